// needs: server, both stores
import t from 'tap';
import { eventually, openGallery, picture, refused } from './gallery-harness.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

t.test('a reservation that nobody put and an asset that failed are swept; uploads stay', async (t) => {
  const { newAccount, clock, objects } = await openGallery(t, { settings: { SWEEP_INTERVAL_MS: '100' } });
  const { call, stored, reserved } = await newAccount();
  const kept = await stored();
  const [unused, used, failed] = [await reserved(), await reserved(), await reserved()];
  await used.put(await picture());
  await failed.put(new TextEncoder().encode('no image'));
  t.equal(Date.parse((await call(`/assets/${unused.id}`)).json.data.expiresAt), clock.ms + 15 * MINUTE_MS);
  t.equal(Date.parse((await call(`/assets/${failed.id}`)).json.data.expiresAt), clock.ms + DAY_MS);

  const isGone = async (id: string) => (await call(`/assets/${id}`)).status === 404;
  clock.ms += 16 * MINUTE_MS;
  t.ok(await eventually(() => isGone(unused.id)));
  t.notOk(await isGone(failed.id));
  clock.ms += DAY_MS;
  t.ok(await eventually(() => isGone(failed.id)));
  refused(t, await failed.put(await picture()), 403, 'forbidden');
  for (const id of [kept, used.id]) t.equal((await call(`/assets/${id}/content`)).status, 200);
  t.equal((await call('/account')).json.data.assets.stored, 2);
  t.equal((await objects()).length, 2);
});
