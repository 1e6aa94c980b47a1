// needs: server
import { connect, type Socket } from 'node:net';
import t from 'tap';
import { sharedServer } from '../../support/harness.ts';
import { ended, submit, uploadPictures } from './jobs.ts';

const MAX_LONG_READS = 4;
const server = await sharedServer();

/** Begins to read a response, and stops after its first bytes. Resolves with its status. */
function readSlowly(path: string, key: string): Promise<{ status: number; socket: Socket }> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    t.teardown(() => socket.destroy());
    socket.on('error', () => undefined);
    socket.once('data', (head) => {
      socket.pause();
      resolve({ status: Number(head.toString('latin1', 9, 12)), socket });
    });
    socket.write(`GET /api/v1${path} HTTP/1.1\r\nhost: darkroom\r\nauthorization: ApiKey ${key}\r\n\r\n`);
  });
}

/** A job whose 100 answers have 24 MB together. */
async function longJob(account: { key: string }): Promise<string> {
  const [assetId] = await uploadPictures(server, account, 1);
  const names = ['a', 'b', 'c', 'd'];
  const schema = {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, { $ref: '#/$defs/long' }])),
    required: names,
    $defs: { long: { const: 'x'.repeat(60_000) } },
  };
  const assetIds = Array.from({ length: 100 }, () => assetId);
  const request = { op: 'analyze', model: 'sandbox-vision', assetIds, parameters: { schema } };
  const { json } = await submit(server, account.key, request);
  await ended(server, account.key, json.data.id);
  return json.data.id;
}

t.test('an account has few long answers at a time, until they are received', async (t) => {
  const account = await server.account({ credits: 1_000 });
  const id = await longJob(account);
  const whole = await server.call(`/jobs/${id}/items`, account);
  t.equal(whole.json.data.length, 100);
  t.ok(whole.bytes.length > 24_000_000);
  const paths = [
    `/jobs/${id}/items`,
    `/jobs/${id}`,
    `/jobs/${id}/items?perPage=90`,
    `/jobs/${id}?fields=items`,
  ];
  const slow = await Promise.all(paths.map((path) => readSlowly(path, account.key)));
  t.same(
    slow.map(({ status }) => status),
    Array.from({ length: MAX_LONG_READS }, () => 200),
  );
  for (const path of paths) {
    const { status, headers, json } = await server.call(path, account);
    t.equal(status, 429, path);
    t.match(json.error, {
      code: 'rate_limited',
      details: { reason: 'account_concurrency', limit: MAX_LONG_READS },
    });
    t.equal(headers.get('retry-after'), '1');
  }
  t.equal((await server.call(`/jobs/${id}?items=0`, account)).status, 200, 'short answers are served');
  for (const { socket } of slow) socket.resume();
  const answers = await Promise.all(slow.map(({ socket }) => untilLast(socket)));
  t.equal(answers.length, MAX_LONG_READS);
  t.equal((await server.call(paths[0] ?? '', account)).status, 200);
});

/** Resolves when the connection has received the end of the envelope. */
function untilLast(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.on('data', (chunk) => {
      if (chunk.toString('latin1').endsWith('Z"}')) resolve();
    });
  });
}
