// needs: server
import sharp from 'sharp';
import t from 'tap';
import { picture, SVG, sharedGallery } from './gallery-harness.ts';

t.test('a preview is a small upright WebP of the first frame, which costs no run', async (t) => {
  const { newAccount } = await sharedGallery();
  const { call, upload } = await newAccount();
  const wide = await sharp({ create: { width: 900, height: 300, channels: 3, background: '#c02040' } })
    .withMetadata({ orientation: 6 })
    .jpeg()
    .toBuffer();
  const used = async () => (await call('/account')).json.data.processing.used;
  const before = await used();
  const kept = await upload(new Uint8Array(wide), '', 'image/jpeg');
  const path = `/assets/${kept.json.data.id}/content`;
  const { status, headers, bytes } = await call(`${path}?preview=128`);
  t.same([status, headers.get('content-type')], [200, 'image/webp']);
  const { data, info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true });
  t.same([info.width, info.height], [43, 128]);
  for (const [channel, value] of [0xc0, 0x20, 0x40].entries())
    t.ok(Math.abs((data[channel] ?? 0) - value) < 8, `channel ${channel}: ${data[channel]}`);
  t.equal(headers.get('cache-control'), 'private, max-age=31536000, immutable');
  t.equal(await used(), before);

  const etag = headers.get('etag') ?? '';
  const known = await call(`${path}?preview=128`, { headers: { 'if-none-match': etag } });
  t.same([known.status, known.bytes.length], [304, 0]);
  const larger = await call(`${path}?preview=256`, { headers: { 'if-none-match': etag } });
  t.equal(larger.status, 200, 'another size is another picture');
  t.same(await call(path).then((answer) => answer.bytes), Buffer.from(wide), 'the original is as it was');
});

t.test('a small picture is not enlarged, and a drawing is drawn', async (t) => {
  const { newAccount } = await sharedGallery();
  const { call, stored, upload } = await newAccount();
  const small = await sharp(await picture()).metadata();
  const shown = await call(`/assets/${await stored()}/content?preview=256`);
  t.match(await sharp(shown.bytes).metadata(), { width: small.width, height: small.height });
  const drawing = await upload(new TextEncoder().encode(SVG), '', 'image/svg+xml');
  const drawn = await call(`/assets/${drawing.json.data.id}/content?preview=64`);
  t.same([drawn.status, drawn.headers.get('content-type')], [200, 'image/webp']);
});

t.test('other sizes, signed links and other accounts get no preview', async (t) => {
  const { newAccount, server } = await sharedGallery();
  const [{ call, stored }, stranger] = [await newAccount(), await newAccount()];
  const id = await stored();
  for (const preview of ['0', '65', '4096', 'small', '']) {
    const { status, json } = await call(`/assets/${id}/content?preview=${preview}`);
    t.same([status, json.error.param], [400, 'preview'], preview);
  }
  t.equal((await stranger.call(`/assets/${id}/content?preview=64`)).status, 404);
  const { url } = (await call(`/assets/${id}/link`)).json.data;
  const linked = await fetch(`${url}&preview=64`);
  t.equal(linked.status, 400);
  t.equal((await server.call(`/assets/${id}/content?preview=64`)).status, 401);
});
