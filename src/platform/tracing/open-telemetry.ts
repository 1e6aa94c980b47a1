import {
  type Context,
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import type { Tracing } from './tracing.ts';

const SERVICE_NAME = 'darkroom';

/**
 * Implements tracing by the libraries of OpenTelemetry. Their own environment settings configure receiver, sampler and
 * resource.
 */
export function createOpenTelemetryTracing(): Tracing {
  const own = resourceFromAttributes({ 'service.name': process.env.OTEL_SERVICE_NAME || SERVICE_NAME });
  const resource = defaultResource()
    .merge(own)
    .merge(detectResources({ detectors: [envDetector] }));
  const provider = new NodeTracerProvider({
    resource,
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  // Registers the propagator of W3C's traceparent, and a context manager that follows asynchronous calls.
  provider.register();
  const tracer = provider.getTracer(SERVICE_NAME);

  return {
    isOn: true,
    request(traceparent, attributes, next) {
      const parent =
        traceparent === undefined ? ROOT_CONTEXT : propagation.extract(ROOT_CONTEXT, { traceparent });
      const span = tracer.startSpan('request', { kind: SpanKind.SERVER, attributes }, parent);
      context.with(trace.setSpan(parent, span), next);
      return {
        end(last, failed) {
          span.setAttributes(last);
          if (typeof last['http.route'] === 'string')
            span.updateName(`${attributes['http.request.method']} ${last['http.route']}`);
          if (failed) span.setStatus({ code: SpanStatusCode.ERROR });
          span.end();
        },
      };
    },
    async span(name, attributes, work) {
      const span = tracer.startSpan(name, { attributes });
      return runWithinSpan(trace.setSpan(context.active(), span), span, work);
    },
    async trace(name, attributes, work) {
      const span = tracer.startSpan(name, { attributes, root: true });
      return runWithinSpan(trace.setSpan(ROOT_CONTEXT, span), span, work);
    },
    parts(parts) {
      if (trace.getActiveSpan() === undefined) return;
      const nowMs = Date.now();
      for (const { name, startedAgoMs, endedAgoMs, attributes = {} } of parts) {
        tracer.startSpan(name, { startTime: nowMs - startedAgoMs, attributes }).end(nowMs - endedAgoMs);
      }
    },
    headers() {
      const carrier: Record<string, string> = {};
      propagation.inject(context.active(), carrier);
      return carrier;
    },
    ids() {
      const span = trace.getActiveSpan()?.spanContext();
      return span === undefined ? {} : { trace_id: span.traceId, span_id: span.spanId };
    },
    close: () => provider.shutdown(),
  };
}

async function runWithinSpan<T>(at: Context, span: Span, work: () => Promise<T>): Promise<T> {
  try {
    return await context.with(at, work);
  } catch (error) {
    // The message is omitted, because it may contain data of the caller.
    span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof Error ? error.name : 'unknown' });
    throw error;
  } finally {
    span.end();
  }
}
