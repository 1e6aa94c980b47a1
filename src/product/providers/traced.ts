import type { Tracing } from '../../platform/tracing/tracing.ts';
import type { Providers } from './open.ts';

/** Model calls, each in a span below that of its item. Prompts, pictures and addresses stay out of it. */
export function tracedProviders(providers: Providers, tracing: Tracing): Providers {
  if (!tracing.isOn) return providers;
  return {
    ...providers,
    run: (call, signal) =>
      tracing.span('provider', { 'darkroom.op': call.op, 'darkroom.model': call.model }, () =>
        providers.run(call, signal),
      ),
  };
}
