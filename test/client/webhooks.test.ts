// needs: nothing
import t from 'tap';
import { verifyWebhook, WebhookVerificationError } from '../../src/client/index.ts';
import { newSigningSecret, signedAttemptHeaders } from '../../src/product/webhooks/endpoints/signing.ts';

const body =
  '{"id":"evt_1","type":"webhook.test","createdAt":"2026-01-01T00:00:00.000Z","data":{"message":"é"}}';
const signedAt = new Date('2026-01-01T00:00:00Z');
const secret = newSigningSecret();
const event = { eventId: 'evt_1', eventType: 'webhook.test', body, attempts: 0 };
const headers = signedAttemptHeaders(event, secret, signedAt);
const now = signedAt.getTime() + 1_000;

t.test('a delivery as the service signs it is genuine, in every form of body and headers', async (t) => {
  const bytes = new TextEncoder().encode(body);
  for (const received of [
    { body, headers },
    { body: bytes, headers: new Headers(headers) },
    { body, headers: { 'Service-Signature': headers['service-signature'], other: undefined } },
  ]) {
    const heard = await verifyWebhook({ ...received, secret, now });
    t.match(heard, { id: 'evt_1', type: 'webhook.test', data: { message: 'é' } });
  }
});

t.test('everything else is refused', async (t) => {
  const good = { body, headers, secret, now };
  const signature = String(headers['service-signature']);
  const signed = (text: string) => ({ 'service-signature': text });
  const wrong: Record<string, Parameters<typeof verifyWebhook>[0]> = {
    'another body': { ...good, body: body.replace('é', 'e') },
    'another secret': { ...good, secret: newSigningSecret() },
    'an empty secret': { ...good, secret: '' },
    'no header': { ...good, headers: {} },
    'no signature': { ...good, headers: signed('t=1767225600') },
    'a signature that is not hex': { ...good, headers: signed(`t=1767225600,v1=${'z'.repeat(64)}`) },
    'another time': { ...good, headers: signed(signature.replace(/t=\d+/, 't=1767225601')) },
    'an old one': { ...good, now: signedAt.getTime() + 301_000 },
    'one from the future': { ...good, now: signedAt.getTime() - 301_000 },
    'a narrow tolerance': { ...good, toleranceSeconds: 0.5 },
  };
  for (const [name, delivery] of Object.entries(wrong))
    await t.rejects(verifyWebhook(delivery), WebhookVerificationError, name);
  t.match(await verifyWebhook({ ...good, now: signedAt.getTime() + 299_000 }), { id: 'evt_1' });
  t.match(await verifyWebhook({ ...good, now: now + 3_600_000, toleranceSeconds: 4_000 }), { id: 'evt_1' });
});
