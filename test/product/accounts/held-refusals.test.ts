// needs: nothing
import Fastify from 'fastify';
import t from 'tap';
import { ApiError } from '../../../src/platform/http/errors/errors.ts';
import { installErrorHandler } from '../../../src/platform/http/errors/failures.ts';
import type { AdmissionRequest, Coordination } from '../../../src/platform/stores/coordination/port.ts';
import type { Authentication } from '../../../src/product/accounts/authentication.ts';
import { CallGate } from '../../../src/product/accounts/gate/gate.ts';

/** Grants every call but those above the number of slots. */
function slotsOnly(): Coordination {
  const taken = new Set<string>();
  const coordination = {
    async admit({ slot, returned = [] }: AdmissionRequest) {
      for (const { holder } of returned) taken.delete(holder);
      const isFree = slot === undefined || taken.has(slot.holder) || taken.size < slot.limit;
      if (slot !== undefined && isFree) taken.add(slot.holder);
      const rate = { allowed: true, remaining: 9, ahead: 0, resetMs: 9 };
      return { blockedMs: 0, flagged: false, rate, slot: isFree };
    },
    async releaseSlot(_key: string, holder: string) {
      taken.delete(holder);
    },
  };
  return coordination as unknown as Coordination;
}

/** Routes that take the only slot of their account: one is refused, and its response held back for a minute. */
async function serve() {
  const caller = { accountId: 'acc', plan: 'free', apiKeyId: 'key', sessionId: null };
  const authentication = { cachedCallerOf: () => null, findCaller: async () => caller };
  const app = Fastify();
  installErrorHandler(app);
  const gate = new CallGate({
    coordination: slotsOnly(),
    authentication: authentication as unknown as Authentication,
    hostId: 'host',
    processId: '1',
    settings: { REQUESTS_PER_MINUTE: 100, FAILED_AUTHENTICATIONS_PER_MINUTE: 100, SYNC_CALLS_PER_ACCOUNT: 1 },
    now: Date.now,
  });
  gate.install(app);
  const refusing = Promise.withResolvers<void>();
  const config = { slot: 'calls' } as const;
  app.get('/held', { config }, async () => {
    refusing.resolve();
    throw new ApiError('provider_unavailable', 'Not again yet.', { holdMs: 60_000 });
  });
  const ended = Promise.withResolvers<void>();
  app.addHook('onRequestAbort', async (_request) => ended.resolve());
  app.get('/refused', { config }, async () => {
    throw new ApiError('provider_unavailable', 'Not again yet.', { holdMs: 0 });
  });
  app.get('/quick', { config }, async () => ({ success: true }));
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return { app, url, refusing: refusing.promise, ended: ended.promise };
}

t.test('a refusal that is held back takes no slot of its account, and ends with its client', async (t) => {
  const { app, url, refusing, ended } = await serve();
  const client = new AbortController();
  const held = fetch(`${url}/held`, { signal: client.signal });
  await refusing;
  const statuses: number[] = [];
  for (const path of ['/quick', '/refused', '/quick', '/quick'])
    statuses.push((await fetch(`${url}${path}`)).status);
  t.same(statuses, [200, 503, 200, 200], 'the only slot goes from call to call');
  client.abort();
  await t.rejects(held, { name: 'AbortError' });
  await ended;
  await app.close();
});
