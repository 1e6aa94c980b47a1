// needs: server
import { connect } from 'node:net';
import t from 'tap';
import { sharedServer } from '../../support/harness.ts';

const server = await sharedServer();
const { key } = await server.account();
const NEXT_REQUEST = 'GET /healthz HTTP/1.1\r\nhost: darkroom\r\nconnection: close\r\n\r\n';

interface ChunkedRequest {
  line: string;
  headers?: readonly string[];
  chunk: string;
  chunks: number;
}

/** The statuses of a request with a chunked body and of another one behind it, until the connection has ended. */
function statusesOf({ line, headers = [], chunk, chunks }: ChunkedRequest): Promise<number[]> {
  const head = [`${line} HTTP/1.1`, 'host: darkroom', 'transfer-encoding: chunked', ...headers, '', ''];
  const body = `${chunk.length.toString(16)}\r\n${chunk}\r\n`.repeat(chunks);
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    socket.on('data', (received) => {
      text += received;
    });
    socket.on('error', () => undefined);
    socket.once('close', () =>
      resolve([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => Number(code))),
    );
    socket.write(`${head.join('\r\n')}${body}0\r\n\r\n${NEXT_REQUEST}`);
  });
}

const CALL = {
  line: 'POST /api/v1/images/metadata',
  headers: [`authorization: ApiKey ${key}`, 'content-type: image/png'],
};
const PUBLIC_CALL = { line: 'GET /api/v1/ops' };

t.test('a body in small chunks ends its connection, whether it is read or not', async (t) => {
  const small = { chunk: 'x', chunks: 100_000 };
  t.same(await statusesOf({ ...CALL, ...small }), [], 'a body that is read');
  t.ok((await statusesOf({ ...PUBLIC_CALL, ...small })).length < 2, 'a body that nobody reads');
});

t.test('a body of lines, or of few bytes one by one, is read', async (t) => {
  t.same(await statusesOf({ ...CALL, chunk: 'x'.repeat(200), chunks: 20_000 }), [400, 200]);
  t.same(await statusesOf({ ...CALL, chunk: 'x', chunks: 4_000 }), [400, 200]);
  t.same(await statusesOf({ ...PUBLIC_CALL, chunk: 'x', chunks: 4_000 }), [200, 200]);
});
