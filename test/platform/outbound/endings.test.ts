// needs: nothing
import type { Socket } from 'node:net';
import t, { type Test } from 'tap';
import { OutboundRequests } from '../../../src/platform/outbound/outbound.ts';
import { serveTcp } from './listener.ts';

const OPTIONS = { allowedSubnets: ['127.0.0.0/8'], allowsHttp: true };
/** Long enough that a peer which ends by itself ends before, short enough to wait for one that does not. */
const TIMEOUT_MS = 1_000;

/** A way that a peer may end, or never end, an exchange. */
interface Ending {
  act: (socket: Socket) => void;
  /** What a delivery reads; null if the answer is whole. */
  fault: 'connection' | 'timeout' | null;
  /** The status that a delivery records. */
  status?: number;
}

const ENDINGS: Record<string, Ending> = {
  'a close without a byte': { act: (socket) => socket.destroy(), fault: 'connection' },
  'an end without a byte': { act: (socket) => socket.end(), fault: 'connection' },
  'a reset': { act: (socket) => socket.resetAndDestroy(), fault: 'connection' },
  'no word at all': { act: () => undefined, fault: 'timeout' },
  'another protocol': { act: (socket) => socket.end('SSH-2.0-OpenSSH_9.6\r\n'), fault: 'connection' },
  'HTTP/0.9': { act: (socket) => socket.end('<html>'), fault: 'connection' },
  '101 that stays open': {
    act: (socket) => socket.write(switching()),
    fault: 'connection',
  },
  '101 that closes': { act: (socket) => socket.end(switching()), fault: 'connection' },
  '101 without the header Upgrade': {
    act: (socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n'),
    fault: 'connection',
  },
  '1xx and then a close': {
    act: (socket) => socket.end('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'),
    fault: 'connection',
  },
  '1xx and then silence': {
    act: (socket) => socket.write('HTTP/1.1 100 Continue\r\n\r\n'),
    fault: 'timeout',
  },
  '1xx without end': {
    act: (socket) => flood(socket, 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'),
    fault: 'connection',
  },
  '1xx, a status, and headers that stop': {
    act: (socket) =>
      socket.write('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 204 No Content\r\nx-'),
    fault: 'timeout',
    status: 204,
  },
  'half of a status line': { act: (socket) => socket.write('HTTP/1.1 20'), fault: 'timeout' },
  'headers that stop': {
    act: (socket) => socket.write('HTTP/1.1 200 OK\r\nx-a: b\r\nx-'),
    fault: 'timeout',
    status: 200,
  },
  'headers that drip': {
    act: (socket) => drip(socket, 'HTTP/1.1 503 Busy\r\nx-a: ', 'b'),
    fault: 'timeout',
    status: 503,
  },
  'headers without end': {
    act: (socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      // The status is read from its own piece: one that holds too many headers is refused whole.
      setTimeout(() => flood(socket, `x-a: ${'b'.repeat(1_000)}\r\n`), 20);
    },
    fault: 'connection',
    status: 200,
  },
  'headers that are cut': {
    act: (socket) => socket.end('HTTP/1.1 500 Oops\r\nx-a: b\r\n'),
    fault: 'connection',
    status: 500,
  },
  'a body that never comes': {
    act: (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n'),
    fault: null,
    status: 200,
  },
  'a body that drips': {
    act: (socket) => drip(socket, 'HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n', '.'),
    fault: null,
    status: 200,
  },
  'a body that is cut': {
    act: (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n12'),
    fault: null,
    status: 200,
  },
  'a chunk that is no number': {
    act: (socket) => socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n'),
    fault: null,
    status: 200,
  },
};

t.test('whatever a host of a picture does, its fetch ends, and may be tried again', async (t) => {
  const outcomes = await afterEachEnding(t, (url) =>
    new OutboundRequests(OPTIONS).fetchImage(url, { limitBytes: 100_000, timeoutMs: TIMEOUT_MS }),
  );
  for (const [name, outcome] of outcomes) {
    t.match(
      outcome,
      { error: { code: 'provider_unavailable', details: { reason: 'url_unavailable' } } },
      name,
    );
  }
});

t.test('whatever a receiver of webhooks does, the attempt ends with what it is known by', async (t) => {
  const call = { headers: {}, body: Buffer.from('{}'), answerTimeoutMs: TIMEOUT_MS };
  const outcomes = await afterEachEnding(t, (url) => new OutboundRequests(OPTIONS).postWebhook(url, call));
  for (const [name, outcome] of outcomes) {
    const { fault, status } = ENDINGS[name] as Ending;
    const wanted = { error: { name: 'OutboundError', fault, status } };
    if (fault === null) t.same(outcome, { value: status }, name);
    else t.match(outcome, wanted, name);
  }
});

t.test('the time to connect holds the look-up, TCP and TLS together', async (t) => {
  const silent = await serveTcp(t, () => undefined);
  const outbound = new OutboundRequests({
    ...OPTIONS,
    connectTimeoutMs: 400,
    resolve: async () => {
      await new Promise((resolve) => setTimeout(resolve, 399));
      return [{ address: '127.0.0.1', family: 4 }];
    },
  });
  const call = { headers: {}, body: Buffer.from('{}'), answerTimeoutMs: TIMEOUT_MS };
  const late = { fault: 'timeout', message: /to connect|to resolve its name/ };
  await t.rejects(outbound.postWebhook(`https://slow.test:${silent.port}/`, call), late);
});

/** What an attempt came to, by the name of its ending. Each has its own host, all at once; no connection stays open. */
async function afterEachEnding(t: Test, attempt: (url: string) => Promise<unknown>) {
  const outcomes = new Map<string, { value: unknown } | { error: unknown }>();
  const tries = Object.entries(ENDINGS).map(async ([name, ending]) => {
    const closed = Promise.withResolvers<void>();
    const host = await serveTcp(t, (socket) => {
      socket.once('close', () => closed.resolve());
      socket.once('data', () => ending.act(socket));
    });
    outcomes.set(
      name,
      await attempt(host.url).then(
        (value) => ({ value }),
        (error: unknown) => ({ error }),
      ),
    );
    await closed.promise;
    t.equal(host.seen.connections, 1, `${name}: it is asked once`);
  });
  await Promise.all(tries);
  return outcomes;
}

function switching(): string {
  return 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n';
}

/** Sends a text again and again for as long as the peer takes it. */
function flood(socket: Socket, text: string): void {
  const pour = () => {
    for (let sent = 0; sent < 100; sent += 1) if (socket.destroyed || !socket.write(text)) return;
  };
  const again = setInterval(pour, 1);
  socket.once('close', () => clearInterval(again));
}

/** Sends a beginning, and then a little again and again. */
function drip(socket: Socket, beginning: string, drop: string): void {
  socket.write(beginning);
  const again = setInterval(() => socket.write(drop), 20);
  socket.once('close', () => clearInterval(again));
}
