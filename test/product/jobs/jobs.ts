import sharp from 'sharp';
import type { Answer, TestAccount, TestServer } from '../../support/harness.ts';

/** Uploads distinct small pictures. @returns their ids. */
export async function uploadPictures(
  server: TestServer,
  { key }: Pick<TestAccount, 'key'>,
  count: number,
): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const body = await picture(index);
    const { json, status } = await server.call('/assets/upload', { key, body, type: 'image/png' });
    if (status >= 300) throw new Error(`An upload was refused: ${JSON.stringify(json)}`);
    ids.push(json.data.id);
  }
  return ids;
}

/** Waits for a job to end, by the long poll of the interface. */
export async function ended(server: TestServer, key: string, jobId: string): Promise<Answer['json']> {
  for (let polls = 0; polls < 10; polls += 1) {
    const { json } = await server.call(`/jobs/${jobId}?wait=30`, { key });
    if (['COMPLETED', 'FAILED', 'CANCELLED'].includes(json.data?.status)) return json.data;
  }
  throw new Error(`The job ${jobId} did not end.`);
}

export function submit(server: TestServer, key: string, json: object, query = ''): Promise<Answer> {
  return server.call(`/jobs${query}`, { key, json });
}

/** A PNG of one colour, another one for each index. */
async function picture(index: number): Promise<Uint8Array<ArrayBuffer>> {
  const background = { r: index % 256, g: Math.floor(index / 256) % 256, b: 90 };
  const create = { width: 32, height: 24, channels: 3, background } as const;
  return new Uint8Array(await sharp({ create }).png().toBuffer());
}
