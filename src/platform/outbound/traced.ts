import type { Tracing } from '../tracing/tracing.ts';
import type { Outbound } from './outbound.ts';

/**
 * Traces each exchange in a span, and sends the trace to receivers of webhooks. Spans contain no addresses, because
 * these belong to callers.
 */
export function tracedOutbound(outbound: Outbound, tracing: Tracing): Outbound {
  if (!tracing.isOn) return outbound;
  return {
    fetchImage: (url, options) => tracing.span('fetch url', {}, () => outbound.fetchImage(url, options)),
    checkWebhook: (url) => outbound.checkWebhook(url),
    postWebhook: (url, options) =>
      tracing.trace('delivery', {}, () =>
        outbound.postWebhook(url, { ...options, headers: { ...options.headers, ...tracing.headers() } }),
      ),
  };
}
