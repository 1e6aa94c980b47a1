// needs: server, browser
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import t from 'tap';
import { SCENES, type Scene } from '../../../docs/gallery/scenes.ts';
import { fontDifferences } from '../../product/templates/references.ts';
import { comparePictures } from '../../support/comparison.ts';
import { sharedServer } from '../../support/harness.ts';
import { writtenPage } from './page.ts';
import { GALLERY, Studio } from './studio.ts';

/** Another encoder of the same pixels stays within these; another parameter or another colour does not. */
const MIN_LIKENESS = 0.98;
const MAX_COLOUR_DISTANCE = 1.5;
const MAX_GALLERY_BYTES = 3_000_000;
const MAX_PICTURE_BYTES = 130_000;
/** The colour of no picture, so that a lost transparency is seen. */
const BEHIND = '#00ff00';
/** Where a picture that changed lies beside the kept one. */
const CHANGED = join(import.meta.dirname, '../../../.cache/gallery');

const server = await sharedServer();
const { key } = await server.account({ credits: 1_000 });
const studio = new Studio(server, key);
const otherFonts = fontDifferences();

const kept = (scene: Scene) => readFileSync(join(GALLERY, 'pictures', scene.picture));

/** What the pictures are compared by exactly. */
async function factsOf(picture: Uint8Array) {
  const { format, width, height, pages = 1 } = await sharp(picture).metadata();
  return { format, width, height, pages };
}

/** Writes both pictures into one folder. @returns where they lie, as a sentence. */
function laidBeside({ picture }: Scene, made: Uint8Array, before: Uint8Array): string {
  mkdirSync(CHANGED, { recursive: true });
  const [name, extension] = picture.split('.');
  const files = [`${name}.kept.${extension}`, `${name}.made.${extension}`];
  for (const [index, bytes] of [before, made].entries())
    writeFileSync(join(CHANGED, files[index] ?? ''), bytes);
  return `compare ${files.join(' and ')} in ${CHANGED}; npm run gallery keeps the new one`;
}

t.test(
  'each op that makes a picture on this machine, each preset and each template has a scene',
  async (t) => {
    const list = async (path: string) => (await server.call(path, { key })).json.data;
    const sandbox: string[] = (await list('/ai-models'))
      .filter((model: { sandbox?: boolean }) => model.sandbox === true)
      .map((model: { id: string }) => model.id);
    const ops: { op: string; produces: string; kind: string; defaultModel?: string }[] = await list('/ops');
    const made = ops
      .filter(({ produces }) => produces === 'image')
      .filter(({ kind, defaultModel = '' }) => kind !== 'ai' || !sandbox.includes(defaultModel));
    const shown = (property: 'op' | 'preset' | 'template') => new Set(SCENES.map((scene) => scene[property]));
    const builtIn = (rows: { id: string }[]) =>
      rows.map(({ id }) => id).filter((id) => id.startsWith('builtin-'));
    const add = 'add a scene to docs/gallery/scenes.ts, and run npm run gallery';
    for (const { op } of made) t.ok(shown('op').has(op), `${op}: ${add}`);
    for (const id of builtIn(await list('/presets'))) t.ok(shown('preset').has(id), `${id}: ${add}`);
    for (const id of builtIn(await list('/templates'))) t.ok(shown('template').has(id), `${id}: ${add}`);
    for (const { op = 'resize' } of SCENES)
      t.ok(
        ops.some((known) => known.op === op),
        `${op} exists`,
      );
  },
);

for (const scene of SCENES)
  t.test(`${scene.picture} is the answer of its call`, async (t) => {
    const [made, before] = [await studio.take(scene), kept(scene)];
    t.ok(made.length <= MAX_PICTURE_BYTES, `${made.length} bytes`);
    if (scene.template !== undefined && otherFonts.length > 0) {
      t.comment(`not compared, because other fonts are installed: ${otherFonts.join(', ')}`);
      return;
    }
    t.same(await factsOf(made), await factsOf(before), scene.picture);
    const opaque = (picture: Uint8Array) => sharp(picture).flatten({ background: BEHIND });
    const { likeness, colourDistance } = await comparePictures(opaque(made), opaque(before));
    const isSame = likeness >= MIN_LIKENESS && colourDistance <= MAX_COLOUR_DISTANCE;
    const told = `likeness ${likeness.toFixed(4)}, colours ${colourDistance.toFixed(2)} apart`;
    t.ok(isSame, isSame ? told : `${told}: ${laidBeside(scene, made, before)}`);
  });

t.test('the comparison sees another parameter, a lost transparency and another colour', async (t) => {
  const unlike = async (picture: string, query: Record<string, string | number>) => {
    const scene = SCENES.find((known) => known.picture === picture) as Scene;
    const call = { ...scene.call, query: { ...scene.call.query, ...query } };
    const [other, before] = [await studio.take({ ...scene, call }), kept(scene)];
    const opaque = (file: Uint8Array) => sharp(file).flatten({ background: BEHIND });
    const { likeness, colourDistance } = await comparePictures(opaque(other), opaque(before));
    return likeness < MIN_LIKENESS || colourDistance > MAX_COLOUR_DISTANCE;
  };
  t.ok(await unlike('blur.jpg', { sigma: 3 }));
  t.ok(await unlike('sharpen.jpg', { sigma: 0.8 }));
  t.ok(await unlike('round-corners.webp', { radius: 24 }));
  t.ok(await unlike('tint.jpg', { color: '#ff6a00' }));
  t.ok(await unlike('alpha.webp', { opacity: 0.5 }));
});

t.test('the files of the gallery are few bytes, and each is used', async (t) => {
  const files = readdirSync(GALLERY, { recursive: true, encoding: 'utf8' });
  const sizes = files.map((name) => statSync(join(GALLERY, name)).size);
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  t.ok(bytes <= MAX_GALLERY_BYTES, `${bytes} bytes`);
  const text = JSON.stringify(SCENES);
  const sources = readFileSync(join(GALLERY, 'sources/SOURCES.md'), 'utf8');
  for (const name of readdirSync(join(GALLERY, 'pictures'))) t.ok(text.includes(`"${name}"`), name);
  for (const name of readdirSync(join(GALLERY, 'sources')).filter((name) => name !== 'SOURCES.md')) {
    t.ok(text.includes(name), `${name} is used`);
    t.ok(sources.includes(`\`${name}\``), `${name} is named in SOURCES.md`);
  }
  for (const { source } of SCENES)
    if (source !== undefined) t.ok(existsSync(join(GALLERY, 'sources', source)), source);
});

t.test('the page of the gallery is that of its scenes', async (t) => {
  t.equal(readFileSync(join(GALLERY, 'README.md'), 'utf8'), await writtenPage(), 'run npm run gallery');
});
