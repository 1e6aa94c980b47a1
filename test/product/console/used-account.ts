import sharp from 'sharp';
import type { Test } from 'tap';
import type { ConsoleUnderTest } from '../../support/console.ts';
import { register, startReceiver } from '../webhooks/receiver.ts';

const COLOURS = ['#c8553d', '#588b8b', '#f28f3b', '#2d3047', '#93b7be', '#e0ca3c', '#a799b7', '#048a81'];

/** What the owner of an account has saved, each with two versions. */
interface Saved {
  templateId: string;
  presetSlug: string;
}

/**
 * Uses the account of a console as its owner would: assets, jobs, an endpoint, calls that succeed and that fail, a
 * template and a preset.
 */
export async function useAccount(t: Test, { server, account }: ConsoleUnderTest): Promise<Saved> {
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
  await submit({ op: 'resize', assetIds, parameters: { width: 320, format: 'avif' }, collection: 'shop' });
  await submit({ op: 'blur', assetIds: assetIds.slice(0, 5), parameters: { sigma: 4 } });
  // The picture that is smaller than this crop fails.
  const small = new Uint8Array(
    await sharp(await drawing('#048a81', 2))
      .resize(200)
      .png()
      .toBuffer(),
  );
  const { json } = await server.call('/assets/upload?name=icon.png', { key, body: small, type: 'image/png' });
  const crop = { x: 60, y: 60, width: 300, height: 200 };
  await submit({ op: 'crop', assetIds: [...assetIds.slice(0, 3), json.data.id], parameters: crop });
  const image = { key, body: new Uint8Array(await drawing('#333333', 3)), type: 'image/png' };
  for (const query of [
    'op=resize&width=320',
    'op=blur&sigma=4',
    'op=resize&widht=320',
    'op=resize&width=wide',
  ])
    await server.call(`/images/transform?${query}`, image);
  await server.call('/jobs/job_000000000000000000000000', { key });

  const page = { name: 'Price tag', html: '<h1>{{ title }}</h1>', width: 600, height: 300 };
  const template = await server.call('/templates', { key, json: { ...page, css: 'h1 { color: #c8553d }' } });
  const templateId = template.json.data.id;
  const changed = { css: 'h1 {\n  color: #588b8b;\n  font-size: 64px;\n}' };
  await server.call(`/templates/${templateId}`, { key, method: 'PUT', json: changed });
  const steps = (width: number) => [
    { op: 'resize', parameters: { width } },
    { op: 'sharpen', parameters: { sigma: 0.8 } },
  ];
  const preset = await server.call('/presets', { key, json: { name: 'Shop picture', steps: steps(600) } });
  const presetSlug = preset.json.data.slug;
  await server.call(`/presets/${presetSlug}`, { key, method: 'PUT', json: { steps: steps(800) } });
  return { templateId, presetSlug };
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
