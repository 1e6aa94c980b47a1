// needs: server, browser
import sharp from 'sharp';
import t from 'tap';
import { warningsText } from '../../../src/platform/http/hooks/warnings.ts';
import { sharedServer } from '../../support/harness.ts';
import { ended, submit } from './jobs.ts';

const server = await sharedServer();
const { key } = await server.account({ credits: 100 });

async function upload(body: Buffer, type: string): Promise<string> {
  const answer = await server.call('/assets/upload', { key, body: new Uint8Array(body), type });
  return answer.json.data.id;
}

const size = { width: 32, height: 24, channels: 3 } as const;
const still = await upload(
  await sharp({ create: { ...size, background: '#a05030' } })
    .png()
    .toBuffer(),
  'image/png',
);
const frames = Buffer.concat([Buffer.alloc(32 * 24 * 3, 40), Buffer.alloc(32 * 24 * 3, 200)]);
const animated = await upload(
  await sharp(frames, { raw: { ...size, height: 48, pageHeight: 24 } })
    .gif()
    .toBuffer(),
  'image/gif',
);

const STEPS: Record<string, object[]> = {
  'not_enlarged:32': [{ op: 'resize', parameters: { width: 400 } }],
  'no_effect:gravity,did_you_mean:fit=cover': [
    { op: 'resize', parameters: { width: 16, height: 16, gravity: 'north' } },
  ],
  'no_effect,font_replaced:Inter,missing_glyph:10FFFE': [
    { op: 'rotate', parameters: { angle: 0 } },
    { op: 'text', parameters: { text: '\u{10fffe}', font: 'Inter', size: 4, margin: 0 } },
  ],
};

t.test('an item tells the warnings of a call that does the same', async (t) => {
  for (const [told, steps] of Object.entries(STEPS)) {
    const called = await server.call('/images/transform', { key, json: { assetId: still, steps } });
    t.equal(called.headers.get('x-service-warnings'), told);
    const sent = await submit(server, key, { steps, assetIds: [still] });
    const { items } = await ended(server, key, sent.json.data.id);
    t.equal(warningsText(items[0].warnings), told);
  }
});

t.test('each variant has its own warnings, and one without any has none', async (t) => {
  const variants = [{ parameters: { width: 400 } }, { parameters: { width: 16 } }];
  const sent = await submit(server, key, { op: 'resize', assetIds: [still], variants });
  const [large, small] = (await ended(server, key, sent.json.data.id)).items;
  t.same(large.warnings, [{ code: 'not_enlarged', name: '32' }]);
  t.notOk('warnings' in small);
});

t.test('a comparison of animations tells that it is one of their first frames', async (t) => {
  const json = { assetId: animated, otherAssetId: animated };
  const called = await server.call('/images/compare', { key, json });
  const told = called.headers.get('x-service-warnings');
  t.equal(told, 'first_frame_compared');
  const parameters = { otherAssetId: animated };
  const sent = await submit(server, key, { op: 'compare', parameters, assetIds: [animated] });
  t.equal(warningsText((await ended(server, key, sent.json.data.id)).items[0].warnings), told);
});

t.test('an item warns of the frames of an animation that its model does not get', async (t) => {
  const sent = await submit(server, key, {
    ...{ op: 'edit', prompt: 'Bluer', model: 'sandbox-image' },
    assetIds: [animated],
  });
  const { items } = await ended(server, key, sent.json.data.id);
  t.equal(warningsText(items[0].warnings ?? []), 'frames_lost:1');
});

t.test('a chain keeps the warnings of all of its segments', async (t) => {
  const steps = [
    { op: 'resize', parameters: { width: 400 } },
    { op: 'edit', prompt: 'Bluer', model: 'sandbox-image' },
    { op: 'resize', parameters: { width: 500 } },
  ];
  const sent = await submit(server, key, { steps, assetIds: [still] });
  const { items } = await ended(server, key, sent.json.data.id);
  t.equal(warningsText(items[0].warnings), 'not_enlarged:32');
});

t.test('the items of a render tell what a call tells of its row', async (t) => {
  const html = '<p>{{ word }}</p><img src="asset:ast_000000000000000000000000">';
  const template = { name: 'Words', html, width: 100, height: 50 };
  const templateId = (await server.call('/templates', { key, json: template })).json.data.id;
  const data = { wort: 'plain' };
  const told = (await server.call('/images/render', { key, json: { templateId, data } })).headers.get(
    'x-service-warnings',
  );
  t.match(told, 'unknown_variable:wort');
  const sent = await submit(server, key, { op: 'render_template', templateId, items: [data] });
  t.equal(warningsText((await ended(server, key, sent.json.data.id)).items[0].warnings), told);
});
