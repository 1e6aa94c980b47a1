// needs: server
import { Agent, get } from 'node:http';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { startServer } from '../../support/harness.ts';

// So much is left of the window that requests are counted ahead, and most calls ask nothing.
const MAX_PER_MINUTE = 1_000_000;
const server = await startServer(t, {
  settings: {
    REQUESTS_PER_MINUTE: String(MAX_PER_MINUTE),
    FAILED_AUTHENTICATIONS_PER_MINUTE: String(MAX_PER_MINUTE),
  },
});
const [one, other] = [await server.account(), await server.account()];
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
t.teardown(() => agent.destroy());
const ports = new Set<number | undefined>();

interface Told {
  status: number;
  remaining: number;
  json: { data?: { id?: string } };
}

/** Calls over the one connection, as a proxy does for several callers. */
function call(path: string, authorization?: string): Promise<Told> {
  return new Promise((resolve, reject) => {
    const headers = authorization === undefined ? {} : { authorization };
    const request = get(`${server.url}/api/v1${path}`, { agent, headers }, async (response) => {
      ports.add(request.socket?.localPort);
      const json = JSON.parse(await text(response)) as Told['json'];
      const remaining = Number(response.headers['ratelimit-remaining']);
      resolve({ status: response.statusCode ?? 0, remaining, json });
    });
    request.on('error', reject);
  });
}

t.test('each call of a connection is judged by the credential that it brings', async (t) => {
  const { email, password } = one;
  const signedIn = await server.call('/auth/sign-in', { json: { email, password } });
  const callers = [
    { authorization: `ApiKey ${one.key}`, id: one.id },
    { authorization: `ApiKey ${other.key}`, id: other.id },
    { authorization: `apikey  ${one.key}`, id: one.id },
    { authorization: `Bearer ${signedIn.json.data.token}`, id: one.id },
  ];
  const refused = [undefined, 'ApiKey', `ApiKey ${one.key}x`, `Bearer ${one.key}`, `Basic ${one.key}`];
  for (let turn = 0; turn < 5; turn += 1) {
    for (const { authorization, id } of callers) {
      for (const wrong of [undefined, ...refused]) {
        const told = await call('/account', authorization);
        t.same([told.status, told.json.data?.id], [200, id]);
        if (turn === 4) t.equal((await call('/account', wrong)).status, 401, String(wrong));
      }
    }
  }
  t.equal(ports.size, 1, 'over one connection');
});

t.test('a busy caller is told of each call that it makes, and of a refused one too', async (t) => {
  const authorization = `ApiKey ${other.key}`;
  let { remaining } = await call('/credits', authorization);
  for (let turn = 0; turn < 300; turn += 1) {
    const isForSessions = turn % 3 === 2;
    const told = await call(isForSessions ? '/api-keys' : '/credits', authorization);
    remaining -= 1;
    t.same([told.status, told.remaining], [isForSessions ? 403 : 200, remaining]);
  }
});
