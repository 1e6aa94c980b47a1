// needs: server
import sharp from 'sharp';
import t from 'tap';
import { BUILT_IN_PRESETS } from '../../../src/product/presets/builtins.ts';
import { image, needsImages, typeOf } from '../../support/images.ts';
import { start } from './harness.ts';

const { server, key } = await start();
const transform = (query: string, body: Uint8Array<ArrayBuffer>, type: string) =>
  server.call(`/images/transform?${query}`, { method: 'POST', key, body, type });

t.test('every built-in runs on photos', needsImages(t), async (t) => {
  const formats: Record<string, string> = {
    'builtin-web-optimized': 'image/webp',
    'builtin-avatar': 'image/webp',
    'builtin-product-shot': 'image/jpeg',
    'builtin-thumbnail-set': 'image/webp',
    'builtin-print-ready': 'image/jpeg',
  };
  for (const name of ['photos/kodak-1.png', 'photos/apple-iphone-4s.jpg']) {
    for (const { _id } of BUILT_IN_PRESETS) {
      const answer = await transform(`preset=${_id}`, image(name), typeOf(name));
      t.equal(answer.status, 200, `${_id} of ${name}: ${answer.json?.error?.message}`);
      t.equal(answer.headers.get('content-type'), formats[_id] ?? typeOf(name));
    }
  }
});

t.test('the built-ins keep what their words promise', needsImages(t), async (t) => {
  const photo = 'photos/canon-eos-450d.jpg';
  const made = async (name: string) =>
    sharp((await transform(`preset=builtin-${name}`, image(photo), 'image/jpeg')).bytes);
  const stripped = await (await made('privacy-strip')).metadata();
  t.notOk(stripped.exif ?? stripped.xmp ?? stripped.iptc ?? stripped.icc);
  const product = await (await made('product-shot')).metadata();
  t.same([product.width, product.height], [1200, 1200]);
  const thumbnail = await (await made('thumbnail-set')).metadata();
  t.same([thumbnail.width, thumbnail.height], [320, 320]);
  const avatar = await (await made('avatar')).raw().toBuffer({ resolveWithObject: true });
  t.same([avatar.info.width, avatar.info.height, avatar.info.channels], [256, 256, 4]);
  t.equal(avatar.data[3], 0, 'the corner is transparent');
});
