import { Type } from '@sinclair/typebox';
import Fastify from 'fastify';
import { envelopeSchemaOf, successEnvelope } from '../../src/platform/http/envelope.ts';
import { AccountCredits, ApiKey } from '../../src/product/accounts/schema.ts';

/**
 * The baseline of the suite `manners`: a Fastify server with the same answers and schemas, and nothing else. It sends
 * its URL over IPC.
 */
const app = Fastify();
const key = {
  id: 'key_0123456789abcdef',
  name: 'bench',
  hint: 'drk_…0000',
  createdAt: new Date().toISOString(),
};

app.get(
  '/healthz',
  { schema: { response: { 200: Type.Object({ status: Type.Literal('ok') }) } } },
  async () => ({
    status: 'ok' as const,
  }),
);
app.get('/api/v1/credits', { schema: { response: { 200: envelopeSchemaOf(AccountCredits) } } }, async () =>
  successEnvelope('Credits read.', { balance: 10_000, held: 0, available: 10_000 }),
);
app.get(
  '/api/v1/api-keys',
  { schema: { response: { 200: envelopeSchemaOf(Type.Array(ApiKey)) } } },
  async () => successEnvelope('Keys read.', [key]),
);

process.send?.(await app.listen({ host: '127.0.0.1', port: 0 }));
