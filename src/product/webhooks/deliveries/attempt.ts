import { OutboundError } from '../../../platform/outbound/errors.ts';
import type { OutboundRequests } from '../../../platform/outbound/outbound.ts';
import { HOUR_MS, MINUTE_MS } from '../../../platform/values/units.ts';
import { signedAttemptHeaders } from '../endpoints/signing.ts';
import type { EndpointDocument } from '../endpoints/store.ts';
import type { AttemptRecord, DeliveryDocument } from './store.ts';

const MAX_RETRY_DELAY_MS = 6 * HOUR_MS;
const RETRY_WINDOW_MS = 24 * HOUR_MS;
export const MAX_DELIVERY_ATTEMPTS = 12;

/**
 * When a delivery is tried again: attempt n starts min(2^(n-2) minutes, 6 h) after the end of the previous attempt.
 * Null when that would be more than 24 h after the delivery was queued, or when all 12 attempts were made. If attempts
 * take no time, they are made at 0, 1, 3, 7, 15, 31 min, 1 h 3, 2 h 7, 4 h 15, 8 h 31, 14 h 31 and 20 h 31 min. There
 * is no jitter, because endpoints fail at different times anyway.
 * @param attempts the number of attempts so far, at least 1.
 */
export function nextAttemptAt(attempts: number, finishedAt: Date, queuedAt: Date): Date | null {
  if (attempts >= MAX_DELIVERY_ATTEMPTS) return null;
  const waitMs = Math.min(2 ** (attempts - 1) * MINUTE_MS, MAX_RETRY_DELAY_MS);
  const nextMs = finishedAt.getTime() + waitMs;
  return nextMs > queuedAt.getTime() + RETRY_WINDOW_MS ? null : new Date(nextMs);
}

/**
 * How long an endpoint may take to send the headers of its response, in milliseconds. Connecting has its own timeout of
 * 5 s (src/platform/http/outbound).
 */
const RESPONSE_TIMEOUT_MS = 10_000;
/** The longest duration of an attempt, in milliseconds: both timeouts, and a reserve for a busy process. */
export const MAX_ATTEMPT_MS = 5_000 + RESPONSE_TIMEOUT_MS + 3_000;

/**
 * Makes one attempt, with the current secret and URL of the endpoint. Returns how the attempt changes the delivery.
 * Never rejects, because a failed attempt is a result as well.
 */
export type AttemptDelivery = (
  delivery: DeliveryDocument,
  endpoint: EndpointDocument,
) => Promise<AttemptRecord>;

interface AttemptOptions {
  outbound: Pick<OutboundRequests, 'postWebhook'>;
  /** Called before every attempt, for operators who listen to the endpoint. */
  onAttempt: (endpointId: string, headers: Record<string, string>, body: string) => void;
  now: () => Date;
}

export function createAttemptDelivery({ outbound, onAttempt, now }: AttemptOptions): AttemptDelivery {
  return async (delivery, { _id, url, secret }) => {
    const headers = signedAttemptHeaders(delivery, secret, now());
    onAttempt(_id, headers, delivery.body);
    const body = Buffer.from(delivery.body);
    const result = await outbound
      .postWebhook(url, { headers, body, answerTimeoutMs: RESPONSE_TIMEOUT_MS })
      .then((status) => ({
        responseStatus: status,
        error: status >= 200 && status < 300 ? null : `HTTP ${status}`,
      }))
      .catch((error: unknown) => ({
        responseStatus: error instanceof OutboundError ? (error.status ?? null) : null,
        error: error instanceof Error ? error.message : String(error),
      }));
    return attemptRecordOf(delivery, result, now());
  };
}

function attemptRecordOf(
  { isRetried, attempts, createdAt }: DeliveryDocument,
  result: Pick<AttemptRecord, 'responseStatus' | 'error'>,
  finishedAt: Date,
): AttemptRecord {
  if (result.error === null)
    return { ...result, status: 'DELIVERED', deliveredAt: finishedAt.toISOString(), dueAt: null };
  const next = isRetried ? nextAttemptAt(attempts + 1, finishedAt, new Date(createdAt)) : null;
  const status = next === null ? 'FAILED' : 'PENDING';
  return { ...result, status, deliveredAt: null, dueAt: next?.toISOString() ?? null };
}
