/** How a receiver verifies a delivery, in Markdown. `headers` have lower-case names, `body` is the raw body. */
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
