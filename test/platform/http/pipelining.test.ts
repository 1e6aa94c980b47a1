// needs: server
import { connect } from 'node:net';
import t from 'tap';
import { sharedServer } from '../../support/harness.ts';

const server = await sharedServer();

/** Sends requests at once on one connection, and returns the number of responses when the connection has ended. */
function responsesTo(count: number): Promise<number> {
  const request = (more: string) => `GET /healthz HTTP/1.1\r\nhost: darkroom\r\n${more}\r\n`;
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.on('error', () => undefined);
    socket.once('close', () => resolve(text.split('HTTP/1.1 200').length - 1));
    socket.write(request('').repeat(count - 1) + request('connection: close\r\n'));
  });
}

t.test('requests of one connection are answered in a row, and too many at once close it', async (t) => {
  t.equal(await responsesTo(32), 32);
  t.ok((await responsesTo(400)) <= 32, 'none beyond the limit is begun');
  t.equal((await server.call('/ops')).status, 200);
  t.equal(await responsesTo(32), 32);
});
