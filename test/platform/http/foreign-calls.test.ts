// needs: server
import sharp from 'sharp';
import t from 'tap';
import { sharedServer } from '../../support/harness.ts';
import { foreignForms } from './foreign-calls/forms.ts';
import { type MendedBy, mend } from './foreign-calls/mending.ts';
import { foreignParameters } from './foreign-calls/parameters.ts';

const server = await sharedServer();
const { key } = await server.account();
const pictureOf = async (background: string) =>
  new Uint8Array(
    await sharp({ create: { width: 300, height: 200, channels: 3, background } })
      .png()
      .toBuffer(),
  );
const assetOf = async (body: Uint8Array<ArrayBuffer>): Promise<string> =>
  (await server.call('/assets/upload', { key, body, type: 'image/png' })).json.data.id;
const png = await pictureOf('red');
const assetId = await assetOf(png);
const places = { key, png, assetId, other: await assetOf(await pictureOf('blue')) };
const sender = { server, key, png, assetId };

/** The smallest share of the calls that must be accepted, at once or after corrections by the data of the responses. */
const MIN_MENDED_SHARE = 0.95;

t.test('a program can correct the calls of other services by the data of the refusals', async (t) => {
  const tally: Record<MendedBy, number> = { accepted: 0, fix: 0, instead: 0, suggest: 0, nothing: 0 };
  const calls = [...foreignParameters(places), ...foreignForms(places)];
  for (const [what, call, by] of calls) {
    const mendedBy = await mend(call, sender);
    tally[mendedBy] += 1;
    t.equal(mendedBy, by, what);
  }
  t.comment(`${calls.length} calls: ${JSON.stringify(tally)}`);
  t.ok(
    tally.nothing <= (1 - MIN_MENDED_SHARE) * calls.length,
    `${tally.nothing} are mended by sentences alone`,
  );
});

t.test('a bare # in the address of a call is named, and which value to encode', async (t) => {
  const query = (background: string) => `/images/transform?op=flatten&background=${background}`;
  const cut = await server.call(query('#ff0000'), { key, body: png, type: 'image/png' });
  t.same(cut.json.error.details.fix, [{ param: 'background', in: 'query', encode: 'percent' }]);
  for (const other of ['op=resize&width=', 'op=convert&format=', 'op=rotate&angle=1&frame=', 'op=']) {
    const { json } = await server.call(`/images/transform?${other}`, { key, body: png, type: 'image/png' });
    const cutFix = { details: { fix: [{ encode: 'percent' }] } };
    t.notMatch(json.error, cutFix, `${other} takes no text that begins with #`);
  }
  const encoded = await server.call(query('%23ff0000'), { key, body: png, type: 'image/png' });
  t.equal(encoded.status, 200);
});

t.test('an image that was sent as JSON is sent with its own type', async (t) => {
  const jpeg = new Uint8Array(await sharp(png).jpeg().toBuffer());
  for (const path of ['/images/transform?op=flip', '/images/metadata', '/assets/upload']) {
    const { json } = await server.call(path, { key, body: jpeg, type: 'application/json' });
    t.same(json.error.details.fix, [{ param: 'Content-Type', replace: 'image/jpeg', in: 'header' }], path);
  }
});

t.test('a thumbnail by one side is proposed as a square', async (t) => {
  const { json } = await server.call('/images/transform?op=thumbnail&width=120', {
    ...{ key, body: png, type: 'image/png' },
  });
  const [step] = json.error.details.instead[0].steps;
  t.match(step, { op: 'resize', parameters: { width: 120, height: 120, fit: 'cover' } });
});
