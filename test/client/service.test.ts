// needs: server, browser
import { createReadStream, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import t from 'tap';
import {
  AssetNotFoundError,
  Darkroom,
  InvalidParamError,
  NotFoundError,
  openFile,
  UnauthorizedError,
} from '../../src/client/index.ts';
import { sharedServer } from '../support/harness.ts';
import { redSquare } from '../support/images.ts';

const server = await sharedServer();
const { key } = await server.account({ credits: 1_000 });
const client = new Darkroom({ baseUrl: server.url, key });
const png = await redSquare();

/** The colour of a picture's middle. */
async function middleOf(bytes: Uint8Array): Promise<number[]> {
  const { data, info } = await sharp(bytes).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  const at = (Math.floor(info.height / 2) * info.width + Math.floor(info.width / 2)) * info.channels;
  return [...data.subarray(at, at + 3)];
}

t.test('an image goes in every form that a program holds it in', async (t) => {
  const folder = t.testdir();
  const path = join(folder, 'red.png');
  writeFileSync(path, png);
  const asset = await client.assets.upload(new Blob([png], { type: 'image/png' }));
  const inputs = {
    'a blob with its type': new Blob([png], { type: 'image/png' }),
    'a blob without a type': new Blob([png]),
    bytes: png,
    'a buffer': png.buffer,
    'a file': await openFile(path),
    'a web stream': new Blob([png]).stream(),
    'a Node stream': createReadStream(path),
    'a response': new Response(png),
    'a request that arrives': Object.assign(createReadStream(path), { url: '/upload' }),
    'an asset': { assetId: asset.id },
  };
  for (const [name, input] of Object.entries(inputs)) {
    const picture = await client.images.transform(input, { op: 'resize', width: 8, format: 'webp' });
    t.match(picture, { width: 8, height: 8, format: 'webp', contentType: 'image/webp' }, name);
    const bytes = await picture.bytes();
    t.match(await sharp(bytes).metadata(), { width: 8, format: 'webp' }, name);
    const [red = 0, green = 255] = await middleOf(bytes);
    t.ok(red > 240 && green < 20, `${name} is red`);
  }
  for (const input of [png, new Blob([png]).stream(), { assetId: asset.id }]) {
    const steps = [{ op: 'grayscale' }, { op: 'resize', parameters: { width: 4, format: 'png' } }] as const;
    const picture = await client.images.transform(input, { steps });
    const [red, green] = await middleOf(await picture.bytes());
    t.match([picture.width, red], [4, green], 'steps run in one pass');
  }
});

t.test('a picture has its facts, and its bytes once', async (t) => {
  const picture = await client.images.transform(png, { op: 'resize', width: 64 });
  t.match(picture.warnings, [{ code: 'not_enlarged', name: /\d+/ }]);
  t.match(picture.timing, { decode: Number, total: Number });
  t.match(picture.requestId, /\S/);
  const path = join(t.testdir(), 'small.png');
  await picture.save(path);
  const saved = await readFile(path);
  t.equal(picture.size, saved.length);
  t.throws(() => picture.stream(), TypeError, 'they were read');

  const kept = await client.images.transform(png, { op: 'resize', width: 8 });
  const bytes = await kept.bytes();
  t.equal((await kept.blob()).type, kept.contentType);
  t.equal(await kept.bytes(), bytes, 'not read twice');
  await kept.save(path);
  t.same(await readFile(path), Buffer.from(bytes));

  const streamed = await client.images.transform(png, { op: 'resize', width: 8 });
  const chunks = await Array.fromAsync(streamed.stream());
  t.same(Buffer.concat(chunks), Buffer.from(bytes));
  const small = await client.images.transform(png, { op: 'compress', format: 'jpeg', minSsim: 0.9 });
  t.match(small.achieved, { quality: Number, ssim: Number });
});

t.test('several outputs of one image have names, and those that fail have their errors', async (t) => {
  const outputs = await client.images.outputs(
    png,
    [
      { name: 'small', op: 'resize', parameters: { width: 8, format: 'webp' } },
      { name: 'grey', steps: [{ op: 'grayscale' }] },
      { name: 'outside', op: 'crop', parameters: { x: 30, y: 30, width: 20, height: 20 } },
    ],
    { steps: [{ op: 'flip', parameters: { axis: 'horizontal' } }] },
  );
  t.same([...outputs.pictures.keys()], ['small', 'grey']);
  t.match(outputs.get('small'), { width: 8, format: 'webp', requestId: outputs.requestId });
  t.match(await sharp(await outputs.get('small').bytes()).metadata(), { width: 8, format: 'webp' });
  const [red, green] = await middleOf(await outputs.get('grey').bytes());
  t.equal(red, green);
  t.match(outputs.errors.get('outside'), { code: 'invalid_param', param: /outside|outputs\[2\]|x|width/ });
  t.throws(() => outputs.get('outside'), InvalidParamError);
  t.throws(() => outputs.get('other'), TypeError);
});

t.test('render, metadata, text, codes and likeness', async (t) => {
  const html = '<body style="margin:0;background:#00f">{{ title }}</body>';
  const card = await client.images.render({ html, width: 20, height: 10, data: { title: '' } });
  t.match(card, { width: 20, height: 10, format: 'png' });
  t.same(await middleOf(await card.bytes()), [0, 0, 255]);
  t.match(await client.images.metadata(png), { image: { width: 32, format: 'png' } });
  t.match(await client.images.readText(png), { width: 32, text: '' });
  t.match(await client.images.readCodes(png), { codes: [] });
  t.match(await client.images.compare(png, new Blob([png]).stream()), { ssim: 1, changedShare: 0 });
  const { id: assetId } = await client.assets.upload(png);
  t.match(await client.images.compare({ assetId }, { assetId }), { ssim: 1 });
  await t.rejects(client.images.compare({ assetId }, png), TypeError);
  const work = { op: 'resize', width: 8, format: 'webp' } as const;
  t.match(await client.images.estimate({ assetId }, work), { format: 'webp', width: 8, price: 0 });
  t.match(await client.images.estimateRender({ html, width: 20, height: 10 }), { format: 'png', width: 20 });
  const link = await client.images.link(png, { op: 'resize', width: 8 });
  t.match(link, { width: 8, url: /^http/ });
  t.equal((await fetch(link.url)).status, 200);
});

t.test('a job from the upload to its results', async (t) => {
  const { id } = await client.assets.upload(new File([png], 'red.png', { type: 'image/png' }));
  const request = { op: 'resize', assetIds: [id], parameters: { width: 8, format: 'webp' } };
  t.match(await client.jobs.estimate(request), { object: 'estimate', totalItems: 1 });
  const seen: string[] = [];
  const job = await client.jobs.run(request, { onProgress: ({ status }) => seen.push(status) });
  t.match(job, { status: 'COMPLETED', outcome: 'all' });
  const once = { idempotencyKey: 'one job' };
  const [first, again] = [await client.jobs.run(request, once), await client.jobs.run(request, once)];
  t.equal(first.id, again.id, 'under one key there is one job');
  t.equal(seen.at(-1), 'COMPLETED');
  const [item] = await client.jobs.items(job.id).all();
  const result = await client.assets.download(item?.resultAssetId ?? '');
  t.equal(result.contentType, 'image/webp');
  t.match(await sharp(await result.bytes()).metadata(), { width: 8, format: 'webp' });
  const archive = await client.jobs.download(job.id);
  t.equal(Buffer.from(await archive.bytes()).readUInt32LE(), 0x04034b50, 'a ZIP archive');
  t.match(await client.jobs.list({ op: 'resize' }).all(), [{ id: first.id }, { id: job.id }]);
});

t.test('what an account keeps is made, read, changed and deleted', async (t) => {
  const steps = [{ op: 'resize', parameters: { width: 8 } }];
  const preset = await client.presets.create({ name: 'Small', steps });
  t.match(await client.presets.update(preset.slug, { name: 'Smaller' }), { name: 'Smaller' });
  const picture = await client.images.transform(png, { preset: preset.slug });
  t.equal(picture.width, 8);
  await client.presets.delete(preset.slug);
  await t.rejects(client.presets.get(preset.slug), NotFoundError);
  const template = await client.templates.create({
    name: 'Card',
    html: '<p>{{ title }}</p>',
    width: 9,
    height: 9,
  });
  t.match(await client.templates.get(template.id), { variables: ['title'] });
  t.ok((await client.templates.list({ filter: 'user' }).all()).length > 0);
  const cyan = await sharp(png).negate().png().toBuffer();
  const asset = await client.assets.upload(cyan, { collection: 'squares', name: 'cyan.png' });
  t.match(await client.assets.list({ collection: 'squares' }).all(), [{ id: asset.id }]);
  t.match(await client.request('GET', '/collections'), [{ name: 'squares', assets: 1 }]);
  await client.assets.delete(asset.id);
  await t.rejects(client.assets.get(asset.id), AssetNotFoundError);
});

t.test('every other call goes by its path, and a refusal says how to fix it', async (t) => {
  const answer = await client.answer('GET', '/usage', { query: { groupBy: 'day' } });
  t.match(answer, { data: { groupBy: 'day' }, status: 200, requestId: String });
  t.match(
    await client.request('GET', '/templates/{templateId}', {
      path: { templateId: 'builtin-template-social-card' },
    }),
    {
      builtIn: true,
    },
  );
  t.match(await client.ops.get('resize'), { op: 'resize', kind: 'deterministic' });
  const unknown = new Darkroom({ baseUrl: server.url, key: 'drk_unknown' });
  await t.rejects(unknown.request('GET', '/account'), UnauthorizedError);
  const wide = await client.images.transform(png, { op: 'resize', width: 99_999 }).catch((error) => error);
  t.type(wide, InvalidParamError);
  t.match(wide, { param: 'width', details: { max: Number } });
});
