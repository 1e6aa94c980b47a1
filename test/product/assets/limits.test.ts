// needs: server, both stores
import t from 'tap';
import { picture, refused, sharedGallery, tally } from './gallery-harness.ts';
import { leave } from './quota.ts';

t.test('of racing uploads as many are stored as there are places', async (t) => {
  const { newAccount, server, objects } = await sharedGallery();
  const { id, call, upload } = await newAccount('free');
  await leave(server, id, 3);
  const pictures = await Promise.all(Array.from({ length: 24 }, () => picture()));
  const answers = await Promise.all(pictures.map((bytes) => upload(bytes)));
  t.same(tally(answers), { 201: 3, 422: 21 });
  const refusal = answers.find(({ status }) => status === 422) ?? answers[0];
  if (refusal !== undefined) refused(t, refusal, 422, 'asset_count_exceeded');
  const { limit, left, upgradeUrl } = refusal?.json.error.details ?? {};
  t.same([limit, left], [1000, 0]);
  t.match(upgradeUrl, /^http/);
  t.equal((await objects()).length, 3);
  t.same((await call('/account')).json.data.assets, { limit: 1000, stored: 1000, left: 0 });
});

t.test('racing uploads of the same bytes share the last place', async (t) => {
  const { newAccount, server } = await sharedGallery();
  const { id, upload } = await newAccount('free');
  await leave(server, id, 1);
  const bytes = await picture();
  const answers = await Promise.all(Array.from({ length: 24 }, () => upload(bytes)));
  t.same(tally(answers), { 200: 23, 201: 1 });
  t.equal((await upload(bytes)).status, 200, 'what is stored is answered, full or not');
});

t.test('a reservation takes a place, a deletion gives it back, a failed upload takes none', async (t) => {
  const { newAccount, server } = await sharedGallery();
  const { id, call, upload, reserved } = await newAccount('free');
  await leave(server, id, 1);
  await upload(new TextEncoder().encode('no image'));
  const { id: assetId } = await reserved();
  refused(t, await upload(await picture()), 422, 'asset_count_exceeded');
  const racing = await Promise.all(
    Array.from({ length: 5 }, () => call('/assets', { json: { contentType: 'image/png' } })),
  );
  t.same(tally(racing), { 422: 5 });
  const deletions = await Promise.all(
    Array.from({ length: 5 }, () => call(`/assets/${assetId}`, { method: 'DELETE' })),
  );
  t.same(tally(deletions), { 204: 1, 404: 4 });
  t.equal((await call('/account')).json.data.assets.left, 1);
  t.equal((await upload(await picture())).status, 201);
});
