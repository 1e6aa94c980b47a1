import { createHmac, randomBytes } from 'node:crypto';

const SECRET_PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/** A new signing secret: `whsec_`, followed by 32 random bytes in base64. */
export function newSigningSecret(): string {
  return `${SECRET_PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`;
}

/**
 * The masked form of a secret. It shows the last 4 characters before the padding: enough to recognize the secret, and
 * too few to reveal it.
 */
export function secretHintOf(secret: string): string {
  return `${SECRET_PREFIX}…${secret.replace(/=+$/, '').slice(-4)}`;
}

/** What the signatures of an event cover (its id, type and body), and the number of earlier attempts. */
interface SignedEvent {
  eventId: string;
  eventType: string;
  body: string;
  attempts: number;
}

/**
 * The headers of one attempt, with two signatures: one in this service's own scheme (its key is the whole secret as
 * UTF-8), and one by Standard Webhooks 1.0 (its key is the decoded base64 of the secret). Receivers can use libraries
 * for either.
 * @param signedAt the time of the attempt. Each attempt has its own signatures.
 */
export function signedAttemptHeaders(
  { eventId, eventType, body, attempts }: SignedEvent,
  secret: string,
  signedAt: Date,
): Record<string, string> {
  const seconds = String(Math.floor(signedAt.getTime() / 1000));
  const signature = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex');
  const standardKey = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
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

/**
 * Explains in Markdown how a receiver verifies a delivery. In its samples, `headers` has names in lower case, and
 * `body` is the raw body.
 */
export const WEBHOOK_VERIFICATION_TEXT = `Every delivery is signed twice with the same secret. Service-Signature is \`t=<unix seconds>,v1=<hex>\`: HMAC-SHA256 of \`<t>.<raw body>\`, keyed with the whole secret. The headers webhook-id, webhook-timestamp and webhook-signature follow Standard Webhooks (https://www.standardwebhooks.com), whose libraries verify them. Either is enough. Verify the raw body (\`body\`), before it is parsed; \`headers\` have lower-case names.

Node, without a package:

\`\`\`js
import { createHmac, timingSafeEqual } from 'node:crypto';
const { t, v1 } = Object.fromEntries(headers['service-signature'].split(',').map((part) => part.split('=')));
const expected = createHmac('sha256', secret).update(\`\${t}.\`).update(body).digest();
if (!timingSafeEqual(Buffer.from(v1, 'hex'), expected) || Math.abs(Date.now() / 1000 - t) > 300) throw new Error('not genuine');
\`\`\`

Node, with the package standardwebhooks:

\`\`\`js
import { Webhook } from 'standardwebhooks';
const event = new Webhook(secret).verify(body, headers);
\`\`\`

Python, with the standard library (\`body\` is bytes):

\`\`\`python
import hashlib, hmac, time
t, v1 = (part.split("=", 1)[1] for part in headers["service-signature"].split(","))
expected = hmac.new(secret.encode(), t.encode() + b"." + body, hashlib.sha256).hexdigest()
if not hmac.compare_digest(v1, expected) or abs(time.time() - int(t)) > 300: raise ValueError("not genuine")
\`\`\``;
