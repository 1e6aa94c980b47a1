// needs: server
import sharp from 'sharp';
import t from 'tap';
import { openGallery, picture, refused, sharedGallery } from './gallery-harness.ts';

const red = { width: 40, height: 40, channels: 3, background: 'red' } as const;

t.test('synchronous calls read an asset of their account', async (t) => {
  const { newAccount } = await sharedGallery();
  const { call, stored } = await newAccount();
  const id = await stored(await picture());
  const transformed = await call('/images/transform', {
    json: { op: 'resize', parameters: { width: 2 }, assetId: id },
  });
  t.equal(transformed.status, 200);
  t.match(await sharp(transformed.bytes).metadata(), { width: 2, height: 2 });
  const told = await call('/images/metadata', { json: { assetId: id } });
  t.same(told.json.data.image, (await call(`/assets/${id}`)).json.data.image);
});

t.test('an asset over 25 MB is stored, and too large for a synchronous call', async (t) => {
  const { newAccount } = await sharedGallery();
  const { call, stored } = await newAccount();
  const large = new Uint8Array(25 * 1024 * 1024 + 1);
  large.set(await picture());
  const id = await stored(large);
  const answer = await call('/images/transform', { json: { op: 'flip', assetId: id } });
  refused(t, answer, 413, 'payload_too_large', 'file');
  t.equal(answer.json.error.details.limit, 25 * 1024 * 1024);
});

t.test('a template draws an own asset by id, address or link, and never another account’s', async (t) => {
  const { newAccount } = await openGallery(t, { settings: { PUBLIC_URL: 'https://pictures.test' } });
  const [owner, stranger] = [await newAccount(), await newAccount()];
  const bytes = new Uint8Array(await sharp({ create: red }).png().toBuffer());
  const id = await owner.stored(bytes);
  const link = (await owner.call(`/assets/${id}/link`)).json.data.url;
  const html = '<body style="margin:0;background:white"><img src="{{ src }}" width="40" height="40"></body>';
  const template = { name: 'Picture', html, width: 40, height: 40 };

  async function middle({ call }: typeof owner, src: string): Promise<number[]> {
    const { id: templateId } = (await call('/templates', { json: template })).json.data;
    const drawn = await call('/images/render', { json: { templateId, data: { src } } });
    t.equal(drawn.status, 200, drawn.json?.error?.message);
    const { data } = await sharp(drawn.bytes)
      .extract({ left: 20, top: 20, width: 1, height: 1 })
      .removeAlpha()
      .raw()
      .toBuffer({ resolveWithObject: true });
    return [...data];
  }

  t.same(await middle(owner, `asset://${id}`), [255, 0, 0]);
  t.same(await middle(owner, link.replace(/\?.*/, '')), [255, 0, 0]);
  t.same(await middle(owner, link), [255, 0, 0]);
  for (const src of [`asset://${id}`, link.replace(/\?.*/, ''), link]) {
    t.same(await middle(stranger, src), [255, 255, 255], src);
  }
});
