// needs: server, browser
import t from 'tap';
import { sharedServer } from '../../support/harness.ts';
import { ended, submit, uploadPictures } from './jobs.ts';

const server = await sharedServer();
const account = await server.account({ credits: 100 });
const { key } = account;
const [assetId = ''] = await uploadPictures(server, account, 1);

/** A character that no font has, because Unicode keeps it out of every text. */
const NOWHERE = '\u{10fffe}';
const missing = { code: 'missing_glyph', name: '10FFFE' };
const replaced = { code: 'font_replaced', name: 'Inter' };
const text = { op: 'text', parameters: { text: NOWHERE, font: 'Inter', size: 4, margin: 0 } };

t.test('an estimate and a submit tell what a text will lack, and each item what it lacked', async (t) => {
  const header = 'font_replaced:Inter,missing_glyph:10FFFE';
  const dry = await submit(server, key, { ...text, assetIds: [assetId] }, '?dryRun=true');
  t.equal(dry.headers.get('x-service-warnings'), header);
  t.match(dry.json.data.warnings, [
    { ...replaced, message: /Inter.*\/fonts/, steps: [0] },
    { ...missing, message: /U\+10FFFE/, steps: [0] },
  ]);
  const sent = await submit(server, key, { ...text, assetIds: [assetId] });
  t.equal(sent.headers.get('x-service-warnings'), header);
  const job = await ended(server, key, sent.json.data.id);
  t.same(job.items[0].warnings, [replaced, missing]);
  const listed = await server.call(`/jobs/${job.id}/items`, { key });
  t.same(listed.json.data[0].warnings, [replaced, missing]);
});

t.test('steps and presets tell it of the steps that write, and a plain text tells nothing', async (t) => {
  const steps = [{ op: 'resize', parameters: { width: 16 } }, text, { op: 'flip' }];
  const dry = await submit(server, key, { steps, assetIds: [assetId] }, '?dryRun=true');
  t.match(dry.json.data.warnings, [replaced, { ...missing, steps: [0, 1, 2] }]);
  const preset = await server.call('/presets', { key, json: { name: 'Marked', slug: 'marked', steps } });
  t.equal(preset.status, 201);
  const saved = await submit(server, key, { presetId: 'marked', assetIds: [assetId] });
  t.same((await ended(server, key, saved.json.data.id)).items[0].warnings, [replaced, missing]);

  const plain = { op: 'text', parameters: { text: 'plain', size: 6, margin: 0 }, assetIds: [assetId] };
  const silent = await submit(server, key, plain, '?dryRun=true');
  t.equal(silent.headers.get('x-service-warnings'), null);
  t.notOk('warnings' in silent.json.data);
  const done = await submit(server, key, { ...plain, wait: 30 });
  t.notOk('warnings' in done.json.data.items[0]);
});

t.test('a chain keeps what a segment before its last one lacked', async (t) => {
  const steps = [text, { op: 'edit', prompt: 'Bluer', model: 'sandbox-image' }, { op: 'flip' }];
  const sent = await submit(server, key, { steps, assetIds: [assetId] });
  t.equal(
    sent.headers.get('x-service-warnings'),
    'sandbox_model:sandbox-image,font_replaced:Inter,missing_glyph:10FFFE',
  );
  t.same((await ended(server, key, sent.json.data.id)).items[0].warnings, [replaced, missing]);
});

t.test('the items of a render tell what their own page lacked', async (t) => {
  const template = { name: 'Words', html: '<p>{{ word }}</p>', width: 100, height: 50 };
  const { json } = await server.call('/templates', { key, json: template });
  const body = {
    op: 'render_template',
    templateId: json.data.id,
    items: [{ word: 'plain' }, { word: NOWHERE }],
  };
  const sent = await submit(server, key, body);
  const [first, second] = (await ended(server, key, sent.json.data.id)).items;
  t.notOk('warnings' in first);
  t.same(second.warnings, [missing]);
});
