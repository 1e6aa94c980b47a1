import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BenchPicture } from '../load/suite.ts';

/** Serves the pictures on loopback, for servers that fetch what they work on. */
export interface PictureServer {
  /** An address of a picture that was never given before, so that no cache of a server knows it. */
  nextUrl(picture: BenchPicture): string;
  close(): void;
}

export async function serveSources(pictures: readonly BenchPicture[]): Promise<PictureServer> {
  const server = createServer((request, response) => {
    const name = decodeURIComponent(request.url ?? '').replace(/^\/\d+\//, '');
    const picture = pictures.find((one) => one.name === name);
    if (picture === undefined) return void response.writeHead(404).end();
    response
      .writeHead(200, { 'content-type': picture.type, 'content-length': picture.bytes.byteLength })
      .end(picture.bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  let given = 0;
  return {
    nextUrl({ name }) {
      given += 1;
      return `http://127.0.0.1:${port}/${given}/${encodeURIComponent(name)}`;
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
