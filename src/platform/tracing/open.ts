import { disabledTracing, type Tracing } from './tracing.ts';

/**
 * Opens tracing by OpenTelemetry if its standard setting OTEL_EXPORTER_OTLP_ENDPOINT (or
 * OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) names a receiver; otherwise its libraries are not loaded. They read
 * OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER and the settings of the exporter themselves.
 */
export async function openTracing(environment: NodeJS.ProcessEnv): Promise<Tracing> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, OTEL_SDK_DISABLED } = environment;
  const receiver = OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || OTEL_EXPORTER_OTLP_ENDPOINT;
  if (!receiver || OTEL_SDK_DISABLED === 'true') return disabledTracing;
  const { createOpenTelemetryTracing } = await import('./open-telemetry.ts');
  return createOpenTelemetryTracing();
}
