// needs: server, browser
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import t from 'tap';
import { prepareZXingModule, writeBarcode } from 'zxing-wasm/writer';
import { Darkroom, openFile } from '../../src/client/index.ts';
import { sharedServer } from '../support/harness.ts';
import { runner } from './cli-harness.ts';

/** Tasks of people who come with a picture and a wish, by the command line alone, and by the client alone. */

const writer = await readFile(fileURLToPath(import.meta.resolve('zxing-wasm/writer/zxing_writer.wasm')));
prepareZXingModule({ overrides: { wasmBinary: new Uint8Array(writer).buffer } });
const server = await sharedServer();
const { key } = await server.account({ credits: 1_000 });
const cwd = t.testdir();
const GALLERY = join(import.meta.dirname, '../../docs/gallery/sources');
const flat = (width: number, height: number, background: string) =>
  sharp({ create: { width, height, channels: 3, background } });

writeFileSync(join(cwd, 'photo.jpg'), readFileSync(join(GALLERY, 'macaws.jpg')));
writeFileSync(join(cwd, 'receipt.png'), readFileSync(join(GALLERY, 'receipt.png')));
await flat(90, 60, '#0055aa').toFile(join(cwd, 'logo.png'));
const { image } = await writeBarcode('4711', { format: 'QRCode', scale: 4 });
writeFileSync(join(cwd, 'code.png'), Buffer.from((await image?.arrayBuffer()) ?? new ArrayBuffer(0)));
const frames = await Promise.all(
  ['red', 'lime', 'blue'].map((colour) => flat(80, 60, colour).png().toBuffer()),
);
await sharp(frames, { join: { animated: true } })
  .gif({ delay: [80, 80, 80] })
  .toFile(join(cwd, 'moving.gif'));
writeFileSync(join(cwd, 'page.html'), '<h1>{{ title }}</h1>');
writeFileSync(
  join(cwd, 'icon.svg'),
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><circle cx="12" cy="12" r="9"/></svg>',
);
mkdirSync(join(cwd, 'photos'));
for (const [index, colour] of ['red', 'lime', 'blue', 'gold', 'teal', 'navy'].entries())
  await flat(60, 40 + index, colour).toFile(join(cwd, `photos/${index + 1}.png`));

const command = runner(cwd, { DARKROOM_URL: server.url, DARKROOM_KEY: key });
const factsOf = (name: string) => sharp(join(cwd, name), { pages: -1 }).metadata();

/** Runs a command as it would be typed, which must succeed; words with spaces stand in quotes. */
async function type(line: string) {
  const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word = '']) => quoted ?? word);
  const ran = await command(words);
  t.equal(ran.code, 0, `darkroom ${line.slice(0, 120)}: ${ran.stderr}`);
  return ran;
}

t.test('one picture by the command line', async (t) => {
  const sized = (name: string, width: number, maxBytes: number) =>
    `--outputs ${name}=resize:width=${width};compress:maxBytes=${maxBytes},format=webp`;
  const limits = [sized('l', 600, 200_000), sized('m', 400, 80_000), sized('s', 200, 15_000)].join(' ');
  const three = await type(`transform photo.jpg ${limits} -o sizes`);
  t.match(three.rows, [
    { name: 'l', width: 600 },
    { name: 'm', width: 400 },
    { name: 's', width: 200 },
  ]);
  t.ok(three.rows[2].bytes <= 15_000);
  t.match(await factsOf('sizes/photo-s.webp'), { width: 200, format: 'webp' }, 'three sizes with limits');

  const ring =
    '[{"op": "thumbnail", "parameters": {"size": 200, "format": "png"}}, {"op": "border", "parameters": {"width": 8, "color": "#ffffff", "radius": "50%"}}]';
  await type(`transform photo.jpg --steps '${ring}' -o avatar.png`);
  t.match(await factsOf('avatar.png'), { width: 216, hasAlpha: true }, 'a round avatar with a ring');

  const logo = '--op overlay --layer logo.png --position southeast --margin 4% --opacity 0.8';
  await type(`transform photo.jpg ${logo} -o marked.webp`);
  t.match(await factsOf('marked.webp'), { format: 'webp' }, 'a logo');

  await type(
    'transform photo.jpg --op redact --regions \'[{"x": 9, "y": 8, "width": 99, "height": 99}]\' -o hidden.jpg',
  );
  const [difference] = (await type('compare photo.jpg hidden.jpg --ssimulacra2')).rows;
  t.match(difference.regions, [{ x: /^\d+$/ }], 'a face, and a difference');
  t.type(difference.ssimulacra2, 'number');

  await type("render --html page.html --width 600 --height 315 --set 'title=Über 🎉' -o card.png");
  t.match(await factsOf('card.png'), { width: 600, height: 315 }, 'a card');
  const [smallest] = (
    await type('transform photo.jpg --op compress --format avif,webp,jpeg --min-ssim 0.95 -o best')
  ).rows;
  t.match(
    smallest,
    { format: /avif|webp|jpeg/, timing: { total: Number } },
    'the smallest file, and where the time went',
  );
  const [{ image: facts }] = (await type('metadata photo.jpg --palette 5')).rows;
  t.ok(facts.palette.length > 1, 'a palette');
  t.match((await type('read-codes code.png')).rows, [{ codes: [{ text: '4711' }] }], 'a code');
  t.match((await type('read-text receipt.png')).rows, [{ text: /[A-Z]/ }], 'a receipt');
  await type('transform moving.gif --op extract_frame -o still.png');
  t.equal((await factsOf('still.png')).pages, undefined, 'a still');
  await type(
    'transform moving.gif --op compress --format webp --max-bytes 50000 --max-fps 10 -o moving.webp',
  );
  t.match(await factsOf('moving.webp'), { format: 'webp', pages: Number }, 'a smaller animation');
  await type('transform photo.jpg --op convert --format jpeg -o clean.jpg');
  t.equal((await factsOf('clean.jpg')).exif, undefined, 'no metadata');
  await type('transform icon.svg --op resize --width 512 -o icon.png');
  t.match(await factsOf('icon.png'), { width: 512, height: 512 }, 'an icon');

  const shapes = ['square=crop:aspect=1:1', 'wide=crop:aspect=16:9', 'tall=crop:aspect=9:16'];
  const shaped = shapes.map((shape) => `--outputs ${shape},gravity=attention`).join(' ');
  await type(`transform photo.jpg photos ${shaped} --names {name}/{input}.{format} -o shapes`);
  const { width, height } = await factsOf('shapes/square/photo.jpg');
  t.equal(width, height, 'three shapes, of each of several');
  t.ok(await factsOf('shapes/tall/6.png'));
});

t.test('many pictures by the command line, and what is kept', async (t) => {
  const uploaded = (await type('upload photos --collection spring')).rows;
  t.match(uploaded, Array(6).fill({ image: { blurhash: String } }), 'a preview of each');
  const cells = uploaded.map(({ id }, index) => `--set image${index + 1}=asset://${id}`).join(' ');
  await type(`render --template contact-sheet ${cells} -o sheet.png`);
  t.match(await factsOf('sheet.png'), { format: 'png' }, 'a contact sheet');

  const variants = '[{"name": "s", "parameters": {"width": 20}}, {"name": "m", "parameters": {"width": 40}}]';
  const job = (
    await type(`job run --from spring --op resize --variants '${variants}' --format webp`)
  ).rows.at(-1);
  t.match(job, { status: 'COMPLETED', completedItems: 12 });
  await type(`job results ${job.id} -o all.zip`);
  t.match(readFileSync(join(cwd, 'all.zip'), 'latin1'), /-s\.webp/, 'two sizes of many');

  const cut =
    '[{"op": "remove_background"}, {"op": "pad", "parameters": {"all": 20, "background": "#ffffff", "format": "jpeg"}}]';
  await type(`job run logo.png --steps '${cut}' -o cut`);
  t.match(await factsOf('cut/logo.jpg'), { format: 'jpeg' }, 'a cut-out on white');
  t.match((await type('job run photo.jpg --op edit --prompt Blue --model sandbox-image --dry-run')).rows, [
    { credits: 12 },
  ]);
  const dear = await command([
    'job',
    'run',
    'photo.jpg',
    '--op',
    'edit',
    '--prompt',
    'Blue',
    '--max-credits',
    '5',
  ]);
  t.match(dear, { code: 4, stderr: /5/ }, 'the price first, and at most 5 credits');

  const slow = (await type("job run --op generate --prompt 'A boat [sandbox:wait=2000]' --detach")).rows[0];
  t.match((await type(`job cancel ${slow.id}`)).rows, [{ status: /^CANCELL/ }]);
  t.match((await type(`assets --similar-to ${uploaded[0].id} --distance 7`)).rows, [{ distance: Number }]);
  const [link] = (await type(`link ${uploaded[0].id} --op resize --width 30 --widths 15,30`)).rows;
  t.match(link, { html: /^<img /, srcset: /15w.*30w/ }, 'an element for a page');
  t.equal((await fetch(link.url)).status, 200);
});

t.test('what a newcomer guesses is answered with the right command', async (t) => {
  const guesses: Record<string, [line: string, says: RegExp]> = {
    'an op as a command': ['resize photo.jpg --width 300', /transform photo\.jpg --op resize/],
    'no op': ['transform photo.jpg --width 300 -o a.jpg', /--op resize/],
    'an output behind the image': ['transform photo.jpg a.webp --op grayscale', /-o/],
    'a text by transform': ['transform photo.jpg --op read_text', /darkroom read-text/],
    'a template by transform': ['transform photo.jpg --op render_template', /darkroom render/],
    'facts by transform': ['transform photo.jpg --op read_metadata', /darkroom metadata/],
    'a comparison by transform': [
      'transform photo.jpg --op compare --other-asset-id ast_1',
      /darkroom job run/,
    ],
    'outputs without a folder': ['transform photo.jpg --outputs a=flip --outputs b=negate', /-o/],
    'names that are equal': [
      'transform photo.jpg --outputs a=flip --outputs b=negate --names x -o x',
      /\{name\}/,
    ],
    'an unknown parameter of an output': ['transform photo.jpg --outputs a=resize:widht=9 -o x', /--width/],
    'a list in an output': ['transform photo.jpg --outputs a=compress:format=avif,webp -o x', /JSON/],
  };
  for (const [what, [line, says]] of Object.entries(guesses))
    t.match(await command(line.split(' ')), { code: 2, stderr: says }, what);
  t.match((await type('help transform')).stdout.toString(), /--outputs/);
});

t.test('the same by the client', async (t) => {
  const client = new Darkroom({ baseUrl: server.url, key });
  const photo = await openFile(join(cwd, 'photo.jpg'));
  const sized = (name: string, width: number, maxBytes: number) => ({
    name,
    steps: [
      { op: 'resize', parameters: { width } },
      { op: 'compress', parameters: { maxBytes, format: 'webp' } },
    ] as const,
  });
  const three = await client.images.outputs(photo, [sized('l', 600, 200_000), sized('s', 200, 15_000)]);
  t.equal(three.errors.size, 0);
  t.match(await client.images.estimateOutputs(photo, [sized('l', 600, 200_000), sized('s', 200, 15_000)]), {
    outputs: [{ name: 'l', width: 600 }, { name: 's' }],
    price: 0,
  });
  const mark = { op: 'overlay', parameters: { position: 'southeast', margin: '4%', opacity: 0.8 } } as const;
  const layer = await openFile(join(cwd, 'logo.png'));
  for (const image of [photo, photo.stream()])
    t.same((await client.images.transform(image, { steps: [mark] }, { layer })).warnings, []);
  const both = { name: 'a', steps: [mark] };
  t.equal((await client.images.outputs(photo, [both, { ...both, name: 'b' }], { layer })).pictures.size, 2);
  await t.rejects(client.images.transform({ assetId: 'ast_1' }, { steps: [mark] }, { layer }), TypeError);
  const smallest = await client.images.transform(photo, {
    op: 'compress',
    format: ['avif', 'webp'],
    minSsim: 0.95,
  });
  t.match(smallest.format, /avif|webp/);
  const moving = await openFile(join(cwd, 'moving.gif'));
  const smaller = { op: 'compress', format: 'webp', maxBytes: 50_000, maxFps: 10 } as const;
  t.equal((await client.images.transform(moving, smaller)).format, 'webp');
  const { codes } = await client.images.readCodes(await openFile(join(cwd, 'code.png')));
  t.match(codes, [{ text: '4711' }]);

  const [first] = await client.assets.list({ collection: 'spring' }).all();
  const assetId = first?.id ?? '';
  const variants = [
    { name: 's', parameters: { width: 20 } },
    { name: 'm', parameters: { width: 40 } },
  ];
  const job = await client.jobs.run({ op: 'resize', from: { collection: 'spring' }, variants });
  t.match(job, { status: 'COMPLETED', completedItems: 12 });
  const cut = [{ op: 'remove_background' }, { op: 'pad', parameters: { all: 20, background: '#ffffff' } }];
  t.match(await client.jobs.run({ steps: cut, assetIds: [assetId] }), { status: 'COMPLETED' });
  const edit = { op: 'edit', model: 'sandbox-image', prompt: 'Blue', assetIds: [assetId] };
  t.match(await client.jobs.estimate(edit), { credits: 12 });
  await t.rejects(client.jobs.submit({ ...edit, maxCredits: 5 }), { code: 'insufficient_credit' });
  const slow = await client.jobs.submit({ ...edit, prompt: 'Blue [sandbox:wait=2000]' });
  t.match(await client.jobs.cancel(slow.id), { status: /^CANCELL/ });
  const failed = await client.jobs.run({ ...edit, prompt: 'Blue [sandbox:reject]' });
  t.match([failed.status, await client.jobs.resume(failed.id)], ['FAILED', { rootJobId: failed.id }]);
  t.ok((await client.assets.list({ similarTo: assetId, distance: 7 }).all()).length >= 0);
  const body = { assetId, op: 'resize', parameters: { width: 30 } };
  t.match(await client.request('POST', '/delivery-links', { body }), { html: /^<img / });
});
