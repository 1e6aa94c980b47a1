// needs: server
import sharp from 'sharp';
import t from 'tap';
import { caseFile, needsCases } from '../../support/cases.ts';
import { piecesOf, previewed, secondPictureIn } from '../../workers/image/previewed.ts';
import { ended, submit } from '../jobs/jobs.ts';
import { openCalls, pictureOf } from './calls.ts';

const corpus = needsCases(t);
const calls = await openCalls(t);
const { server, key } = calls;

t.test('no call carries a second picture along', async (t) => {
  const queries = [
    { op: 'crop', x: 24, y: 0, width: 20, height: 20 },
    { op: 'resize', width: 20 },
    { op: 'convert', format: 'png' },
    { op: 'thumbnail', size: 16, format: 'avif' },
    { op: 'pixelate', size: 8, format: 'tiff' },
    { op: 'compress', maxBytes: 20_000 },
  ];
  for (const query of queries) {
    for (const metadata of ['copyright', 'keep']) {
      const { status, bytes } = await calls.transform({ ...query, metadata }, previewed.jpeg, 'image/jpeg');
      t.equal(status, 200, query.op);
      t.strictSame(await secondPictureIn(bytes), [], `${query.op}, ${metadata}`);
      t.ok((await piecesOf(bytes)).includes('A. Example'), `${query.op}, ${metadata}: the author stays`);
    }
  }
});

t.test('no job does', async (t) => {
  const body = new Uint8Array(previewed.jpeg);
  const uploaded = await server.call('/assets/upload', { key, body, type: 'image/jpeg' });
  const steps = { op: 'crop', parameters: { x: 24, y: 0, width: 20, height: 20, metadata: 'copyright' } };
  const submitted = await submit(server, key, { ...steps, assetIds: [uploaded.json.data.id] });
  t.equal(submitted.status, 201, JSON.stringify(submitted.json));
  const job = await ended(server, key, submitted.json.data.id);
  t.equal(job.status, 'COMPLETED');
  const content = await server.call(`/assets/${job.items[0].resultAssetId}/content`, { key });
  t.strictSame(await secondPictureIn(content.bytes), []);
  t.match(await sharp(content.bytes).metadata(), { width: 20, height: 20 });
});

t.test('an animation is turned by its orientation, and told as it is shown', corpus, async (t) => {
  const file = caseFile('webp-animation-orientation-6.webp');
  const answer = await calls.transform({ op: 'convert', format: 'webp', lossless: true }, file, 'image/webp');
  const strip = await pictureOf(answer);
  t.same([strip.width, strip.height], [20, 80], 'two frames of 20 x 40');
  const [red, green, blue] = strip.at(18, 2);
  t.ok(green > red && green > blue, 'green at the top right');
  t.match((await calls.metadata(file, 'image/webp')).json.data.image, { width: 20, height: 40, frames: 2 });
});
