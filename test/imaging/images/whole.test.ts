// needs: pixels

import { createHash } from 'node:crypto';
import sharp from 'sharp';
import t from 'tap';
import { ImageWorkers } from '../../../src/imaging/images/image-workers.ts';
import type { ImagePass } from '../../../workers/protocol.ts';
import { smallCapacity } from '../../support/capacity.ts';
import { image, imagesIn, needsImages } from '../../support/images.ts';
import { svgOf } from './files.ts';

/** The door with the real threads and the real rasterizer behind it. */
const workers = new ImageWorkers({
  settings: {
    IMAGE_THREADS: 1,
    IMAGE_ISOLATION: 'thread',
    IMAGE_HEAVY_SLOTS: 1,
    IMAGE_ACCOUNT_SECONDS: 30,
    IMAGE_WAIT_MS: 1_000,
    IMAGE_PROCESS_MEMORY_MEGABYTES: 2_048,
    IMAGE_QUEUE: 64,
    IMAGE_MEMORY_MEGABYTES: 0,
    TRANSFORM_TIMEOUT_MS: 10_000,
    VECTOR_TIMEOUT_MS: 60_000,
    VECTOR_MEMORY_MEGABYTES: 2_048,
  },
  capacity: smallCapacity(),
  log: { warn: () => {} },
});
t.teardown(() => workers.close());

const corpus = needsImages(t);
const within = () => ({ accountId: 'acc', deadlineMs: Date.now() + 600_000 });
const passOf = (steps: ImagePass['steps'], encode: ImagePass['encode'] = {}): ImagePass => ({
  decode: {},
  steps,
  encode,
});

t.test('the self-test runs a real pass', async () => workers.selfTest());

t.test('a photograph is scaled', corpus, async (t) => {
  const pass = passOf([{ operation: 'resize', params: { width: 200 } }], { format: 'webp' });
  const { result } = workers.transform({ ...within(), bytes: image('photos/kodak-1.png'), pass });
  const { data, width, height } = await result;
  t.match(await sharp(data).metadata(), { format: 'webp', width, height });
  t.same([width, height], [200, 133]);
});

t.test('a drawing is drawn as large as a resize asks, not enlarged', async (t) => {
  const pass = passOf([{ operation: 'resize', params: { width: 800 } }], { format: 'png' });
  const bytes = svgOf(20, 10, '<rect width="10" height="10" fill="#00f"/>');
  const { data, width, height } = await workers.transform({ ...within(), bytes, pass }).result;
  t.same([width, height], [800, 400]);
  const { data: raw } = await sharp(data).raw().toBuffer({ resolveWithObject: true });
  const at = (x: number) => [...raw.subarray((200 * 800 + x) * 4, (200 * 800 + x) * 4 + 4)];
  t.same(
    [at(399), at(400)],
    [
      [0, 0, 255, 255],
      [0, 0, 0, 0],
    ],
    'the edge is one pixel wide',
  );
});

t.test('a density draws exactly so large', async (t) => {
  const pass: ImagePass = { decode: { density: 192 }, steps: [], encode: { format: 'png' } };
  const { width, height } = await workers.transform({ ...within(), bytes: svgOf(20, 10), pass }).result;
  t.same([width, height], [40, 20]);
});

t.test('a drawing is described by its own file', async (t) => {
  const bytes = svgOf(20, 10, '<rect width="20" height="10" fill="red"/>');
  const sha1 = createHash('sha1').update(bytes).digest('hex');
  const facts = {
    format: 'svg',
    mimeType: 'image/svg+xml',
    width: 20,
    height: 10,
    bytes: bytes.length,
    sha1,
    frames: 1,
  };
  t.match(await workers.describe({ ...within(), bytes }).result, { image: facts });
});

t.test('every shared drawing is drawn', corpus, async (t) => {
  for (const name of imagesIn('vector')) {
    const { image: facts } = await workers.describe({ ...within(), bytes: image(name) }).result;
    t.match(facts, { format: 'svg' }, name);
  }
});

t.test('hostile files are answered, and the threads live on', corpus, async (t) => {
  for (const name of imagesIn('hostile')) {
    const pass = passOf([{ operation: 'resize', params: { width: 64 } }], { format: 'png' });
    const { result } = workers.transform({ ...within(), bytes: image(name), pass });
    const outcome = await result.then(
      () => 'drawn',
      (error: { code?: string }) => error.code,
    );
    t.match(outcome, /^(drawn|unsupported_format)$/, name);
  }
  await workers.selfTest();
});

t.test('what may take long runs in a child process, and makes the same file', async (t) => {
  const flat = { create: { width: 1_500, height: 1_200, channels: 3, background: '#369' } } as const;
  const file = await sharp(flat).png().toBuffer();
  const pass = passOf([{ operation: 'greyscale', params: {} }], { format: 'png', palette: true });
  const isolated = workers.transform({ ...within(), bytes: new Uint8Array(file), pass });
  await new Promise(setImmediate);
  t.match(workers.stats().heavy, { busy: 1 });
  const small = passOf([{ operation: 'resize', params: { width: 500 } }, ...pass.steps], pass.encode);
  const [large, inThread] = [
    await isolated.result,
    await workers.transform({ ...within(), bytes: new Uint8Array(file), pass: small }).result,
  ];
  t.match(large, { contentType: inThread.contentType, width: 1_500, height: 1_200 });
  const [first, second] = [await sharp(large.data).stats(), await sharp(inThread.data).stats()];
  t.same(first.dominant, second.dominant);
});
