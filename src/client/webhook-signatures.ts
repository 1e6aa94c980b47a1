import type { WebhookEvent } from './schema.ts';

export interface ReceivedDelivery {
  /** The raw body of the request, before it is parsed. */
  body: string | Uint8Array;
  headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The secret of the endpoint, `whsec_…`. */
  secret: string;
  /** The maximum age of a signature in seconds. Default: 300. */
  toleranceSeconds?: number;
  /** The current time, in milliseconds since the epoch. Default: the clock of the computer. */
  now?: number;
}

/** Thrown when a delivery is not genuine, or its signature is too old. */
export class WebhookVerificationError extends Error {
  override name = 'WebhookVerificationError';
}

const SIGNATURE_HEADER = 'service-signature';
const DEFAULT_TOLERANCE_SECONDS = 300;

/**
 * Verifies a delivery, and returns its event. The header `Service-Signature` is `t=<unix seconds>,v1=<hex>`; v1 is the
 * HMAC-SHA256 of `<t>.<raw body>` with the whole secret as the key. WebCrypto compares in constant time.
 * @throws WebhookVerificationError
 */
export async function verifyWebhook(delivery: ReceivedDelivery): Promise<WebhookEvent> {
  const { body, headers, secret, toleranceSeconds = DEFAULT_TOLERANCE_SECONDS } = delivery;
  if (secret === '')
    throw new WebhookVerificationError('The secret is empty: pass the secret of the endpoint.');
  const header = findSignatureHeader(headers);
  const [, t] = /(?:^|,)t=(\d+)/.exec(header) ?? [];
  const [, v1] = /(?:^|,)v1=([0-9a-f]{64})(?:,|$)/.exec(header) ?? [];
  if (t === undefined || v1 === undefined)
    throw new WebhookVerificationError(`The header ${SIGNATURE_HEADER} is missing or malformed.`);
  const encoder = new TextEncoder();
  const raw = typeof body === 'string' ? encoder.encode(body) : body;
  const signed = await new Blob([encoder.encode(`${t}.`), raw as Uint8Array<ArrayBuffer>]).arrayBuffer();
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', encoder.encode(secret), algorithm, false, ['verify']);
  const signature = Uint8Array.from(v1.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  if (!(await crypto.subtle.verify('HMAC', key, signature, signed)))
    throw new WebhookVerificationError(
      'The signature does not match: pass the raw body, and the right secret.',
    );
  const ageSeconds = Math.abs((delivery.now ?? Date.now()) / 1000 - Number(t));
  if (ageSeconds > toleranceSeconds)
    throw new WebhookVerificationError(
      `The signature is ${Math.round(ageSeconds)} seconds off: set the clock right, or allow more by toleranceSeconds.`,
    );
  return JSON.parse(new TextDecoder().decode(raw));
}

function findSignatureHeader(headers: ReceivedDelivery['headers']): string {
  if (headers instanceof Headers) return headers.get(SIGNATURE_HEADER) ?? '';
  const [, value = ''] =
    Object.entries(headers).find(([name]) => name.toLowerCase() === SIGNATURE_HEADER) ?? [];
  return String(value);
}
