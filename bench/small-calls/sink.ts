import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A receiver of traces that reads and discards them. It sends its URL over IPC, and on request the number of bytes
 * received.
 */
let receivedBytes = 0;
const server = createServer((request, response) => {
  request.on('data', (chunk: Buffer) => {
    receivedBytes += chunk.length;
  });
  request.on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
});
process.on('message', () => process.send?.(receivedBytes));
server.listen(0, '127.0.0.1', () => {
  process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
