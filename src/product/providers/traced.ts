import type { Tracing } from '../../platform/tracing/tracing.ts';
import type { Providers } from './open.ts';

/** Traces each model call in a span below the span of its item, without prompts, pictures and addresses. */
export function traceProviders(providers: Providers, tracing: Tracing): Providers {
  if (!tracing.isOn) return providers;
  return {
    width: providers.width,
    run: (call, signal) =>
      tracing.span('provider', { 'darkroom.op': call.op, 'darkroom.model': call.model }, () =>
        providers.run(call, signal),
      ),
    stop: () => providers.stop(),
  };
}
