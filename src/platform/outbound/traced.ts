import type { Tracing } from '../tracing/tracing.ts';
import type { Outbound } from './outbound.ts';

/**
 * The way out, each exchange in a span; a webhook's receiver is handed the trace. Addresses are the caller's and stay
 * out of spans.
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
