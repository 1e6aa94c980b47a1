import { createHmac, randomBytes } from 'node:crypto';

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/** A new signing secret: `whsec_` and the base64 of 32 random bytes. */
export function newSecret(): string {
  return `${PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`;
}

/** The masked form of a secret. Its last 4 characters before the padding identify it and reveal nothing. */
export function hintOf(secret: string): string {
  return `${PREFIX}…${secret.replace(/=+$/, '').slice(-4)}`;
}

/** The signed parts: the event as its body says it, and the number of earlier tries. */
interface SignedEvent {
  eventId: string;
  eventType: string;
  body: string;
  attempts: number;
}

/**
 * The headers of one attempt, signed twice: as this service documents it (the key is the whole secret as UTF-8), and as
 * Standard Webhooks 1.0 has it (the key is what its base64 holds), so that the libraries of either verify it.
 * @param signedAt the instant of this attempt: every one is signed afresh.
 */
export function signedHeaders(
  { eventId, eventType, body, attempts }: SignedEvent,
  secret: string,
  signedAt: Date,
): Record<string, string> {
  const seconds = String(Math.floor(signedAt.getTime() / 1000));
  const signature = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex');
  const standardKey = Buffer.from(secret.slice(PREFIX.length), 'base64');
  const standard = createHmac('sha256', standardKey).update(`${eventId}.${seconds}.${body}`).digest('base64');
  return {
    'content-type': 'application/json; charset=utf-8',
    'user-agent': 'Darkroom-Webhooks',
    'service-signature': `t=${seconds},v1=${signature}`,
    'service-event-id': eventId,
    'service-event-type': eventType,
    'service-attempt': String(attempts + 1),
    'webhook-id': eventId,
    'webhook-timestamp': seconds,
    'webhook-signature': `v1,${standard}`,
  };
}
