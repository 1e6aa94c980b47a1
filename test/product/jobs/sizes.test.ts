// needs: server
import sharp from 'sharp';
import t from 'tap';
import { sharedServer } from '../../support/harness.ts';
import { ended, submit, uploadPictures } from './jobs.ts';

const server = await sharedServer();
const account = await server.account({ plan: 'free', credits: 1_000 });
const { key } = account;
const generate = { op: 'generate', model: 'sandbox-image-draft', prompt: 'A lighthouse' };

const large = (bytes: number) => ({ note: 'x'.repeat(bytes) });

t.test('what a job remembers is bounded, and the refusal names the field', async (t) => {
  const step = (bytes: number) => ({
    op: 'edit',
    model: 'sandbox-image',
    prompt: 'Snow',
    parameters: large(bytes),
  });
  const assetIds = await uploadPictures(server, account, 1);
  const rows: Array<readonly [param: string, json: object]> = [
    ['parameters', { ...generate, parameters: large(65_536) }],
    ['prompt', { ...generate, prompt: 'x'.repeat(32_001) }],
    ['variants', { ...generate, variants: Array.from({ length: 5 }, () => ({ parameters: large(60_000) })) }],
    ['steps[1].parameters', { steps: [{ op: 'grayscale' }, step(65_536)], assetIds }],
    ['steps', { steps: Array.from({ length: 10 }, () => step(60_000)), assetIds }],
  ];
  for (const query of ['', '?dryRun=true']) {
    for (const [param, json] of rows) {
      const { status, json: answer } = await submit(server, key, json, query);
      t.equal(status, 400, `${param}${query}`);
      t.match(answer.error, { code: 'invalid_param', param });
    }
  }
  const longest = await submit(server, key, { ...generate, prompt: 'x'.repeat(32_000) }, '?dryRun=true');
  t.equal(longest.status, 200);
});

t.test('presets, sent and imported, are bounded in the same way', async (t) => {
  const steps = [{ op: 'edit', model: 'sandbox-image', prompt: 'Snow', parameters: large(65_536) }];
  const { status, json } = await server.call('/presets', { key, json: { name: 'Snow', steps } });
  t.equal(status, 400);
  t.match(json.error, { code: 'invalid_param', param: 'steps[0].parameters' });
  const imported = await server.call('/presets/import', { key, json: [{ name: 'Snow', steps }] });
  t.match(JSON.stringify(imported.json.data.errors), /steps\[0\]\.parameters/);
});

t.test('what variants share is stored once, and each runs with all of it', async (t) => {
  const shared = 'y'.repeat(60_000);
  const sizes = ['64x64', '96x96', '128x128'];
  const variants = sizes.map((size) => ({ name: size, parameters: { size } }));
  const body = { ...generate, parameters: { shared }, variants };
  const { status, json } = await submit(server, key, body);
  t.equal(status, 201, JSON.stringify(json));
  const job = await ended(server, key, json.data.id);
  t.equal(job.status, 'COMPLETED');
  t.same(job.parameters, { shared }, 'as submitted');
  for (const [index, item] of job.items.entries()) {
    const content = `${server.url}/api/v1/assets/${item.resultAssetId}/content`;
    const answer = await fetch(content, { headers: { authorization: `ApiKey ${key}` } });
    const { width, height } = await sharp(await answer.arrayBuffer()).metadata();
    t.equal(`${width}x${height}`, sizes[index]);
  }
  const definitions = server.stores.documents.collection<{ _id: string; text: string }>({
    name: 'jobDefinitions',
    indexes: [],
  });
  const { text = '' } = (await definitions.findOne({ _id: job.id })) ?? {};
  t.equal(text.split(shared).length - 1, 1);
});
