import sharp from 'sharp';
import type { Test } from 'tap';
import type { ConsoleUnderTest } from '../../support/console.ts';
import { register, startReceiver } from '../webhooks/receiver.ts';

const COLOURS = ['#c8553d', '#588b8b', '#f28f3b', '#2d3047', '#93b7be', '#e0ca3c', '#a799b7', '#048a81'];

/** Uses the account of a console as its owner would: assets, jobs, an endpoint, calls that succeed and that fail. */
export async function useAccount(t: Test, { server, account }: ConsoleUnderTest): Promise<void> {
  const { key } = account;
  const assetIds: string[] = [];
  for (const [index, colour] of COLOURS.entries()) {
    const body = new Uint8Array(await drawing(colour, index));
    const path = `/assets/upload?name=product-${index + 1}.png&collection=products`;
    assetIds.push((await server.call(path, { key, body, type: 'image/png' })).json.data.id);
  }
  let isBroken = false;
  const receiver = await startReceiver(t, (response) => response.writeHead(isBroken ? 500 : 200).end());
  const { id } = await register(server, account, receiver.url, { description: 'Orders' });
  const submit = async (json: object) => {
    const job = (await server.call('/jobs', { key, json })).json.data.id;
    await server.call(`/jobs/${job}?wait=60`, { key });
    return job;
  };
  await submit({ op: 'generate', prompt: 'A lighthouse at dusk', collection: 'ideas' });
  await submit({ op: 'analyze', assetIds: assetIds.slice(0, 2) });
  isBroken = true;
  await server.call(`/webhook-endpoints/${id}/test`, { key, method: 'POST' });
  isBroken = false;
  await submit({ op: 'thumbnail', assetIds, parameters: { size: 128, format: 'webp' } });
  const image = { key, body: new Uint8Array(await drawing('#333333', 3)), type: 'image/png' };
  for (const query of [
    'op=resize&width=320',
    'op=blur&sigma=4',
    'op=resize&widht=320',
    'op=resize&width=wide',
  ])
    await server.call(`/images/transform?${query}`, image);
  await server.call('/jobs/job_000000000000000000000000', { key });
}

/** Some pixels that look like a picture, not two of them alike. */
function drawing(background: string, index: number): Promise<Buffer> {
  const box = (width: number, height: number, colour: string, left: number, top: number) => ({
    input: { create: { width, height, channels: 4 as const, background: colour } },
    left,
    top,
  });
  return sharp({ create: { width: 480, height: 360, channels: 3, background } })
    .composite([
      box(120 + 16 * index, 120, '#ffffffb3', 40 + 30 * index, 180 - 15 * index),
      box(110, 80 + 20 * index, '#00000059', 300 - 30 * index, 60),
    ])
    .png()
    .toBuffer();
}
