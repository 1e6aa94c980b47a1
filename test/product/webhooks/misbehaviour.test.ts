// needs: server, alone
import { once } from 'node:events';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, setDefaultCACertificates } from 'node:tls';
import t, { type Test } from 'tap';
import { LOOPBACK_CERTIFICATE, LOOPBACK_KEY } from '../../../bench/webhooks/certificate.ts';
import { askProcesses } from '../../../src/host/processes/controls.ts';
import { CERTIFICATE, PRIVATE_KEY } from '../../platform/outbound/certificate.ts';
import { startServer } from '../../support/harness.ts';
import { eventually, LOOPBACK, leaveInOutbox, outcome, records, register } from './receiver.ts';

setDefaultCACertificates([LOOPBACK_CERTIFICATE, CERTIFICATE]);
const TRUSTED = { cert: LOOPBACK_CERTIFICATE, key: LOOPBACK_KEY };
/** Trusted, for another name. */
const MISNAMED = { cert: CERTIFICATE, key: PRIVATE_KEY };

const server = await startServer(t, { settings: { ...LOOPBACK, SWEEP_INTERVAL_MS: '100' } });
const owner = await server.account();

type Behaviour = (socket: Socket, t: Test) => void;

/** A TLS peer that does so with every request (the first bytes of one are awaited). Counts its connections. */
async function peer(t: Test, behave: Behaviour, { options = TRUSTED, isTls = true } = {}) {
  const seen = { connections: 0 };
  const sockets = new Set<Socket>();
  const meet = (socket: Socket) => {
    seen.connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('data', () => behave(socket, t));
  };
  const tcp: Server = isTls ? createTlsServer(options, meet) : createTcpServer(meet);
  tcp.on('tlsClientError', () => undefined);
  tcp.listen(0, '127.0.0.1');
  await once(tcp, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    tcp.close();
  });
  return { url: `https://127.0.0.1:${(tcp.address() as AddressInfo).port}/hook`, seen };
}

const says = (text: string) => (socket: Socket) => void socket.write(text);

/** Writes the text again and again until the socket is gone. */
const drips = (first: string, again: string, everyMs: number) => (socket: Socket) => {
  socket.write(first);
  const timer = setInterval(() => socket.write(again), everyMs);
  socket.once('close', () => clearInterval(timer));
};

const OK = 'HTTP/1.1 200 OK\r\n';
const timeout = /^timeout: it took too long to answer$/;

/** What a peer does, and how the attempt ends. */
const QUICK: Array<[what: string, behave: Behaviour, record: object, tls?: Parameters<typeof peer>[2]]> = [
  ['a body without end', drips(`${OK}\r\n`, 'more', 5), { status: 'DELIVERED', responseStatus: 200 }],
  [
    'interim answers first',
    says(`HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n${OK}\r\n`),
    { status: 'DELIVERED', responseStatus: 200 },
  ],
  ['no body', says('HTTP/1.1 204 No Content\r\n\r\n'), { status: 'DELIVERED', responseStatus: 204 }],
  [
    'a redirect',
    says('HTTP/1.1 308 Moved\r\nlocation: https://127.0.0.1/\r\n\r\n'),
    { status: 'FAILED', responseStatus: 308, error: 'HTTP 308' },
  ],
  [
    'a switch of protocols',
    says('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n'),
    { status: 'FAILED', error: /^connection failed/ },
  ],
  [
    'interim answers without end',
    drips('', 'HTTP/1.1 103 Early Hints\r\n\r\n', 1),
    { status: 'FAILED', error: /^connection failed/ },
  ],
  [
    'headers beyond measure',
    says(`${OK}x: ${'y'.repeat(64 * 1024)}`),
    { status: 'FAILED', responseStatus: 200, error: /^connection failed: HPE_HEADER_OVERFLOW$/ },
  ],
  [
    'an error',
    says('HTTP/1.1 500 Oops\r\n\r\n'),
    { status: 'FAILED', responseStatus: 500, error: 'HTTP 500' },
  ],
  ['a close without an answer', (socket) => socket.end(), { status: 'FAILED', error: /^connection failed/ }],
  ['a reset', (socket) => socket.destroy(), { status: 'FAILED', error: /^connection failed/ }],
  ['no HTTP', says('220 mail.example.com\r\n\r\n'), { status: 'FAILED', error: /^connection failed: HPE_/ }],
  [
    'a certificate of another name',
    says(`${OK}\r\n`),
    { status: 'FAILED', error: /^target refused: its certificate is not accepted/ },
    { options: MISNAMED },
  ],
];

for (const [what, behave, record, tls] of QUICK) {
  t.test(`an attempt ends where the receiver sends ${what}`, async (t) => {
    const { url } = await peer(t, behave, tls);
    const { id } = await register(server, owner, url);
    const answer = await server.call(`/webhook-endpoints/${id}/test`, { key: owner.key, method: 'POST' });
    t.match(answer.json.data, record);
    const [row] = await records(server, owner, id);
    t.match(row, record);
    await server.call(`/webhook-endpoints/${id}`, { key: owner.key, method: 'DELETE' });
  });
}

t.test('at debug the log says why and when a delivery is tried again', async (t) => {
  await askProcesses(server.stores.coordination, { kind: 'log', level: 'debug', forMs: null, by: 'a test' });
  const account = await server.account();
  const { url, seen } = await peer(t, says('HTTP/1.1 500 Oops\r\n\r\n'));
  const { id } = await register(server, account, url);
  await leaveInOutbox(server.stores, [outcome(account.id, { sequence: 0 })]);
  await eventually(async () => (await records(server, account, id))[0]?.attempts === 1);
  t.equal(seen.connections, 1);
  const lines = server.logged().split('\n');
  const line = JSON.parse(lines.find((each) => each.includes('A delivery is tried again')) ?? '{}');
  t.match(line, { level: 20, attempts: 1, reason: 'HTTP 500', dueAt: /Z$/ });
});

t.test(
  'nine endpoints that hang delay the tenth by nothing, and each of theirs ends by its time limit',
  async (t) => {
    const account = await server.account();
    const hanging: Array<[behave: Behaviour, record: object, tls?: Parameters<typeof peer>[2]]> = [
      [() => undefined, { error: timeout }],
      [drips('HTTP', '', 1000), { error: timeout }],
      [drips(`${OK}x: `, 'y', 50), { responseStatus: 200, error: timeout }],
      [drips(OK, 'x-more: y\r\n', 50), { responseStatus: 200, error: timeout }],
      [drips('HTTP/1.1 102 Processing\r\n\r\n', '', 1000), { error: timeout }],
      [() => undefined, { error: /^timeout: it took too long to connect$/ }, { isTls: false }],
      [says('H'), { error: timeout }],
      [says('HTTP/1.1 500 Oops\r\n'), { responseStatus: 500, error: timeout }],
      [says(`${OK}content-length: 5\r\n`), { responseStatus: 200, error: timeout }],
    ];
    const tarpits = await Promise.all(
      hanging.map(async ([behave, record, tls]) => {
        const { url, seen } = await peer(t, behave, tls);
        return { seen, record, id: (await register(server, account, url)).id };
      }),
    );
    const good = await peer(t, says(`${OK}\r\n`));
    await register(server, account, good.url);
    const events = Array.from({ length: 50 }, (_, sequence) => outcome(account.id, { sequence }));
    await leaveInOutbox(server.stores, events);
    await eventually(async () => good.seen.connections === 50);
    for (const { seen } of tarpits) t.ok(seen.connections < 10, 'far from its last event');
    for (const { id, record } of tarpits) {
      const row = await eventually(async () => {
        const rows = await records(server, account, id);
        return rows.find(({ attempts }: { attempts: number }) => attempts > 0);
      });
      t.match(row, { status: 'PENDING', ...record });
      await server.call(`/webhook-endpoints/${id}`, { key: account.key, method: 'DELETE' });
    }
  },
);
