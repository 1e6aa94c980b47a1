// needs: server, browser
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import sharp, { type Sharp } from 'sharp';
import t from 'tap';
import { prepareZXingModule, writeBarcode } from 'zxing-wasm/writer';
import { sharedServer } from '../../support/harness.ts';
import { type Answered, call, connectedTo, photo } from './client.ts';

const writer = await readFile(fileURLToPath(import.meta.resolve('zxing-wasm/writer/zxing_writer.wasm')));
prepareZXingModule({ overrides: { wasmBinary: new Uint8Array(writer).buffer } });
const server = await sharedServer();
const { key } = await server.account({ credits: 1_000 });
const client = await connectedTo(t, server.url, key);

/** Uploads as the shell of an agent does: by the address of a ticket. */
async function uploaded(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const { data } = await call(client, 'ticket', {});
  const sent = await fetch(data.url, { method: 'POST', body: bytes });
  if (!sent.ok) throw new Error(await sent.text());
  return data.asset;
}

const bytesOf = async (picture: Sharp) => new Uint8Array(await picture.toBuffer());
const asset = await uploaded(await photo());
const logo = await uploaded(
  await bytesOf(sharp({ create: { width: 90, height: 60, channels: 3, background: '#05a' } }).png()),
);
const moving = await uploaded(
  await bytesOf(
    sharp(
      await Promise.all(
        ['red', 'lime', 'blue'].map((background) =>
          sharp({ create: { width: 80, height: 60, channels: 3, background } })
            .png()
            .toBuffer(),
        ),
      ),
      { join: { animated: true } },
    ).gif({ delay: [80, 80, 80] }),
  ),
);
const { image } = await writeBarcode('4711', { format: 'QRCode', scale: 4 });
const code = await uploaded(new Uint8Array((await image?.arrayBuffer()) ?? new ArrayBuffer(0)));
const icon = await uploaded(
  new Uint8Array(
    Buffer.from(
      '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><circle cx="12" cy="12" r="9"/></svg>',
    ),
  ),
);

const resized = (name: string, width: number, maxBytes: number) => ({
  name,
  steps: [
    { op: 'resize', parameters: { width } },
    { op: 'compress', parameters: { maxBytes, format: 'webp' } },
  ],
});
const step = (op: string, parameters: object = {}) => ({ op, parameters });
const shape = (name: string, aspect: string) => ({
  name,
  op: 'crop',
  parameters: { aspect, gravity: 'attention' },
});
const NO_WARNING = { warnings: undefined };

/** What people want, the tool and the arguments for it, and what its answer has. */
const TASKS: Array<[what: string, tool: string, args: Record<string, unknown>, has: object]> = [
  [
    'three sizes with limits',
    'run',
    {
      input: asset,
      outputs: [resized('l', 900, 200_000), resized('m', 500, 80_000), resized('s', 200, 15_000)],
    },
    { outputs: [{ width: 900 }, { width: 500 }, { width: 200 }] },
  ],
  [
    'a round avatar with a ring',
    'run',
    {
      input: asset,
      steps: [
        step('thumbnail', { size: 200, format: 'png' }),
        step('border', { width: 8, color: '#ffffff', radius: '50%' }),
      ],
    },
    { width: 216, ...NO_WARNING },
  ],
  [
    'a logo',
    'run',
    {
      input: asset,
      steps: [step('overlay', { layerAssetId: logo, position: 'southeast', margin: '4%', opacity: 0.8 })],
    },
    { width: 1_200, ...NO_WARNING },
  ],
  [
    'a contact sheet',
    'render',
    { template: 'contact-sheet', data: { image1: `asset://${asset}`, image2: `asset://${logo}` } },
    { format: 'png', ...NO_WARNING },
  ],
  [
    'a difference, and near duplicates',
    'compare',
    { input: asset, other: asset, ssimulacra2: true },
    { changedShare: 0, hashDistance: 0, ssimulacra2: 100 },
  ],
  ['a link that lasts', 'facts', { input: asset, include: ['link'] }, { link: /^http/ }],
  [
    'a face',
    'run',
    { input: asset, steps: [step('redact', { regions: [{ x: 90, y: 80, width: 200, height: 200 }] })] },
    NO_WARNING,
  ],
  [
    'a card',
    'render',
    { html: '<h1>Über</h1>', css: 'h1 { margin: 0 }', width: 600, height: 315 },
    { width: 600, height: 315 },
  ],
  [
    'the smallest file',
    'run',
    { input: asset, steps: [step('compress', { format: ['avif', 'webp', 'jpeg'], minSsim: 0.95 })] },
    { format: /avif|webp|jpeg/, ssim: String },
  ],
  [
    'a palette and hashes',
    'facts',
    { input: asset, include: ['palette', 'hashes'] },
    { palette: [{}], hashes: {} },
  ],
  ['a code', 'facts', { input: code, include: ['codes'] }, { codes: [{ text: '4711' }] }],
  ['text', 'facts', { input: asset, include: ['text'] }, { text: {} }],
  ['a still', 'run', { input: moving, steps: [step('extract_frame', { format: 'png' })] }, { format: 'png' }],
  [
    'a smaller animation',
    'run',
    { input: moving, steps: [step('compress', { format: 'webp', maxBytes: 50_000, maxFps: 10 })] },
    { format: 'webp' },
  ],
  [
    'no metadata',
    'run',
    { input: asset, steps: [step('convert', { format: 'jpeg' })], save: true },
    { asset: /^ast_/ },
  ],
  [
    'two sizes of many',
    'job',
    {
      action: 'submit',
      op: 'resize',
      inputs: [asset, logo],
      variants: [
        { name: 's', parameters: { width: 20 } },
        { name: 'm', parameters: { width: 40 } },
      ],
      wait: 30,
    },
    { totalItems: 4 },
  ],
  [
    'a cut-out on white',
    'job',
    {
      action: 'submit',
      inputs: [logo],
      steps: [step('remove_background'), step('pad', { all: 20, background: '#ffffff', format: 'jpeg' })],
      wait: 30,
    },
    { status: 'COMPLETED', items: [{ asset: /^ast_/ }] },
  ],
  [
    'the price first',
    'job',
    {
      action: 'submit',
      op: 'edit',
      model: 'sandbox-image',
      prompt: 'Blue',
      inputs: [asset],
      dryRun: true,
      maxCredits: 50,
    },
    { credits: 12 },
  ],
  [
    'an icon',
    'run',
    { input: icon, steps: [step('resize', { width: 512, format: 'png' })] },
    { width: 512, height: 512 },
  ],
  [
    'three shapes',
    'run',
    { input: asset, outputs: [shape('square', '1:1'), shape('wide', '16:9'), shape('tall', '9:16')] },
    { outputs: [{}, {}, {}] },
  ],
  [
    'a look at a region',
    'look',
    { input: asset, region: { x: 0, y: 0, width: 200, height: 100 } },
    { width: 512 },
  ],
  [
    'a preset',
    'presets',
    { action: 'save', name: 'Small', steps: [step('resize', { width: 200 })] },
    { preset: 'small' },
  ],
  ['the preset again', 'run', { input: asset, preset: 'small' }, { width: 200 }],
  [
    "a page's picture",
    'run',
    { input: asset, steps: [step('resize', { width: 120, format: 'webp' })], address: true },
    { link: /\/d\/sgk_/, html: /^<img src="http/ },
  ],
  [
    'where the time went',
    'run',
    { input: asset, steps: [step('resize', { width: 90 })], timing: true },
    { timing: { admit: Number, process: Number, encode: Number, total: Number } },
  ],
  [
    'where the time of a page went',
    'render',
    { html: '<p>Hi</p>', width: 60, height: 30, timing: true },
    { timing: { total: Number } },
  ],
];

t.test('no call of the tools is wrong', async (t) => {
  for (const [what, tool, args, has] of TASKS) {
    const answer: Answered = await call(client, tool, args);
    t.notOk(answer.isError, `${what}: ${answer.text.slice(0, 300)}`);
    t.match(answer.data, has, what);
  }
  const signed = await call(client, 'run', { input: asset, preset: 'small', address: true });
  const delivered = await fetch(signed.data.link);
  t.same([delivered.status, (await sharp(await delivered.bytes()).metadata()).width], [200, 200]);
  const edit = { action: 'submit', op: 'edit', prompt: 'Blue [sandbox:reject]', inputs: [asset] };
  const { id } = (await call(client, 'job', { ...edit, wait: 30 })).data;
  t.match((await call(client, 'job', { action: 'resume', id })).data, { id: /^job_/, totalItems: 1 });
});
