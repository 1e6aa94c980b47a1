// needs: server, alone
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { json } from 'node:stream/consumers';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { openGallery, picture } from './gallery-harness.ts';

const MEGABYTE = 1024 * 1024;
const BODY_BYTES = 5 * MEGABYTE;
/** At once, each with all of its bytes on the way but the last. */
const OPEN_UPLOADS = 40;
/** How many are sent one after the other, eight at a time; `ASSETS_UPLOADS=1000` is the load that is measured. */
const UPLOADS = Number(process.env.ASSETS_UPLOADS ?? 16);
const AT_A_TIME = 8;
/** 100 MB in one call. */
const FILES_OF_A_BODY = 20;

/** Bytes of buffers that are really held: what is only not collected yet says nothing about a stream. */
function buffersInUse(): number {
  collectGarbage();
  return process.memoryUsage().arrayBuffers;
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** The body of one upload: a picture, its number, and the same zeros for all of them. */
async function body(number: number): Promise<Uint8Array[]> {
  const head = await picture();
  const tail = new TextEncoder().encode(String(number).padStart(8, '0'));
  return [head, tail, ZEROS.subarray(head.length + tail.length)];
}

const ZEROS = new Uint8Array(BODY_BYTES);
const LINE_END = new TextEncoder().encode('\r\n');

function begin(url: string, key: string): ClientRequest {
  const headers = {
    authorization: `ApiKey ${key}`,
    'content-type': 'image/png',
    'content-length': BODY_BYTES,
  };
  return request(`${url}/api/v1/assets/upload`, { method: 'POST', headers });
}

/** Resolves when the bytes are written to the connection, which is when the server has nearly all of them. */
async function write(upload: ClientRequest, chunks: Uint8Array[]): Promise<void> {
  for (const chunk of chunks) await new Promise((resolve) => upload.write(chunk, resolve));
}

async function answerTo(upload: ClientRequest): Promise<{ status: number; id: string }> {
  const [response] = (await once(upload, 'response')) as [IncomingMessage];
  const { data } = (await json(response)) as { data: { id: string } };
  return { status: response.statusCode ?? 0, id: data.id };
}

t.test('bytes on their way are nowhere in memory', async (t) => {
  const { server } = await openGallery(t);
  const { key } = await server.account();
  const before = buffersInUse();
  const uploads = Array.from({ length: OPEN_UPLOADS }, () => begin(server.url, key));
  const chunks = await Promise.all(uploads.map((_upload, index) => body(index)));
  await Promise.all(
    uploads.map((upload, index) =>
      write(
        upload,
        (chunks[index] ?? []).map((chunk) => chunk.subarray(0, -1)),
      ),
    ),
  );
  const grown = buffersInUse() - before;
  t.comment(`${OPEN_UPLOADS} x 5 MB on their way: ${Math.round(grown / MEGABYTE)} MB more in buffers`);
  t.ok(grown < (OPEN_UPLOADS * BODY_BYTES) / 2);
  for (const upload of uploads) upload.end(new Uint8Array(3));
  const answers = await Promise.all(uploads.map(answerTo));
  t.ok(answers.every(({ status }) => status === 201));
});

t.test('the files of one body are nowhere in memory', async (t) => {
  const { server } = await openGallery(t);
  const { key } = await server.account();
  const before = buffersInUse();
  const upload = request(`${server.url}/api/v1/assets/upload`, {
    method: 'POST',
    headers: { authorization: `ApiKey ${key}`, 'content-type': 'multipart/form-data; boundary=x' },
  });
  const answer = once(upload, 'response') as Promise<[IncomingMessage]>;
  for (let number = 0; number < FILES_OF_A_BODY; number += 1) {
    const head = `--x\r\ncontent-disposition: form-data; name="file"; filename="${number}.png"\r\n\r\n`;
    await write(upload, [new TextEncoder().encode(head), ...(await body(number)), LINE_END]);
  }
  const grown = buffersInUse() - before;
  t.comment(`${FILES_OF_A_BODY} files of 5 MB: ${Math.round(grown / MEGABYTE)} MB more in buffers`);
  t.ok(grown < (FILES_OF_A_BODY * BODY_BYTES) / 4);
  upload.end('--x--\r\n');
  const [response] = await answer;
  const { data } = (await json(response)) as { data: { assets: object[] } };
  t.same([response.statusCode, data.assets.length], [201, FILES_OF_A_BODY]);
});

t.test(`${UPLOADS} uploads of 5 MB leave memory as it was`, async (t) => {
  const { server } = await openGallery(t);
  const { key } = await server.account();
  const peaks: number[] = [];
  const started = performance.now();

  async function uploadSome(first: number): Promise<void> {
    for (let number = first; number < UPLOADS; number += AT_A_TIME) {
      const upload = begin(server.url, key);
      const answer = answerTo(upload);
      await write(upload, await body(number));
      upload.end();
      t.equal((await answer).status, 201);
      const tenth = Math.floor((number * 10) / UPLOADS);
      peaks[tenth] = Math.max(peaks[tenth] ?? 0, process.memoryUsage().rss / MEGABYTE);
    }
  }

  await Promise.all(Array.from({ length: AT_A_TIME }, (_, first) => uploadSome(first)));
  const seconds = (performance.now() - started) / 1000;
  t.comment(
    `${(UPLOADS / seconds).toFixed(1)} uploads/s; peak RSS in MB by tenth: ${peaks.map(Math.round).join(' ')}`,
  );
  const [early = 0] = peaks;
  t.ok(Math.max(...peaks) < early + 300, 'whatever their number');
});
