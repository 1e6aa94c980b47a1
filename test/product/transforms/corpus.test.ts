// needs: server, alone
import sharp from 'sharp';
import t from 'tap';
import { seededRandom } from '../../../workers/models/random.ts';
import { image, imagesIn, needsImages, typeOf } from '../../support/images.ts';
import { openCalls } from './calls.ts';

const corpus = needsImages(t);
const calls = await openCalls(t);
const PICTURE = /\.(png|jpe?g|gif|webp|avif|tiff?|svg)$/i;
const FOLDERS = ['photos', 'animated', 'modern', 'orientation', 'hostile', 'pngsuite', 'vector'];
const MEGABYTE = 1024 * 1024;
/** What the process may hold more after hundreds of broken files than after its first pass over the corpus. */
const KEPT_BYTES = 150 * MEGABYTE;
let warmBytes = Number.POSITIVE_INFINITY;

/** Whatever was sent, it is a whole picture, or a refusal that says what is wrong with it. */
async function judge(file: Uint8Array, type: string): Promise<string | null> {
  const described = await calls.metadata(file, type);
  const made = await calls.transform({ op: 'resize', width: 48, frame: 'first', format: 'png' }, file, type);
  for (const { status, json } of [described, made]) {
    const isRefused = status === 400 && json?.error?.code === 'unsupported_format';
    if (status !== 200 && !isRefused) return `${status} ${JSON.stringify(json?.error)}`;
  }
  if (made.status !== 200) return null;
  const { channels } = await sharp(made.bytes, { failOn: 'warning' }).stats();
  return channels.length > 0 ? null : 'no picture';
}

t.test(
  'every file of the corpus is a picture or is refused, and the process outlives them all',
  corpus,
  async (t) => {
    const names = FOLDERS.flatMap(imagesIn).filter((name) => PICTURE.test(name));
    t.ok(names.length > 230, `${names.length} files`);
    await judge(image('photos/kodak-1.png'), 'image/png');
    for (const name of names) {
      // A name says little about its bytes, and only the type that they are is read.
      const type = name.startsWith('hostile/') && name.endsWith('.tif') ? 'image/tiff' : typeOf(name);
      t.equal(await judge(image(name), type), null, name);
    }
    warmBytes = process.memoryUsage.rss();
  },
);

const SAMPLES = [
  'orientation/landscape_6.jpg',
  'modern/paris_exif_xmp_icc.jpg',
  'modern/paris_icc_exif_xmp.png',
  'modern/paris_icc_exif_xmp.avif',
  'modern/abc_color_irot_alpha_irot.avif',
  'modern/lossy_alpha.webp',
  'modern/ycbcr_jpeg_8bit.tif',
  'modern/rgb-3c-16b.tiff',
  'animated/anim.webp',
  'animated/moon_impact.gif',
  'pngsuite/basi6a16.png',
  'vector/filters-feBlend-mode=screen.svg',
];

t.test('files that end too early are never half a picture', corpus, async (t) => {
  for (const name of SAMPLES) {
    const whole = image(name);
    for (const share of [0.02, 0.2, 0.5, 0.8, 0.97]) {
      const cut = whole.slice(0, Math.floor(whole.length * share));
      t.equal(await judge(cut, typeOf(name)), null, `${name} cut at ${share}`);
    }
    if (name.includes('svg') || name.endsWith('.tif') || name.endsWith('.tiff')) continue;
    const half = await calls.transform({ op: 'flip' }, whole.slice(0, whole.length >> 1), typeOf(name));
    t.equal(half.status, 400, `half of ${name} is refused`);
  }
});

t.test('files with flipped bits are pictures or refused', corpus, async (t) => {
  const roll = seededRandom(20_260_701);
  for (const name of SAMPLES) {
    for (let round = 0; round < 8; round += 1) {
      const file = image(name);
      for (let flips = 0; flips < 1 + round * 3; flips += 1) {
        // Headers are where it hurts: half of the flips go into the first kilobyte.
        const room = roll() < 0.5 ? Math.min(1024, file.length) : file.length;
        const at = Math.floor(roll() * room);
        file[at] = (file[at] ?? 0) ^ (1 << Math.floor(roll() * 8));
      }
      t.equal(await judge(file, typeOf(name)), null, `${name}, round ${round}`);
    }
  }
  const { status } = await calls.transform({ op: 'resize', width: 9 }, image('photos/kodak-1.png'));
  t.equal(status, 200, 'the process lives');
  const keptBytes = process.memoryUsage.rss() - warmBytes;
  t.ok(keptBytes < KEPT_BYTES, `${Math.round(keptBytes / MEGABYTE)} MB more than before`);
});
