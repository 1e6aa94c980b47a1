// needs: server
import { Ajv2020 } from 'ajv/dist/2020.js';
import t from 'tap';
import { startServer } from '../../support/harness.ts';
import { ended, submit, uploadPictures } from '../jobs/jobs.ts';
import { LOOPBACK, register, startReceiver } from './receiver.ts';

const TYPES = ['job.completed', 'job.failed', 'job.item.completed', 'job.item.failed'];

t.test('what arrives is what the document says of its webhooks, field by field', async (t) => {
  const server = await startServer(t, { settings: { ...LOOPBACK, SWEEP_INTERVAL_MS: '100' } });
  const account = await server.account({ plan: 'scale', credits: 1_000 });
  const { key } = account;
  const receiver = await startReceiver(t);
  const { id } = await register(server, account, receiver.url, { events: TYPES });
  const [assetId = ''] = await uploadPictures(server, account, 1);
  const jobs = [
    { op: 'analyze', model: 'sandbox-vision', assetIds: [assetId] },
    { op: 'upscale', model: 'sandbox-image', prompt: '[sandbox:reject]', assetIds: [assetId] },
    {
      steps: [{ op: 'grayscale' }, { op: 'edit', model: 'sandbox-image', prompt: 'x' }],
      assetIds: [assetId],
    },
  ];
  for (const json of jobs) {
    const answer = await submit(server, key, json);
    t.equal(answer.status, 201, JSON.stringify(answer.json));
    await ended(server, key, answer.json.data.id);
  }
  await server.call(`/webhook-endpoints/${id}/test`, { key, method: 'POST' });
  const received = await receiver.until(2 * jobs.length + 1);

  const { json: document } = await server.call('//openapi.json');
  t.same(Object.keys(document.webhooks), [...TYPES, 'webhook.test']);
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema(document, 'document');
  for (const { event } of received) {
    const { $ref } = document.webhooks[event.type].post.requestBody.content['application/json'].schema;
    const validate = ajv.compile({ $ref: `document${$ref}` });
    t.ok(validate(event), `${event.type}: ${ajv.errorsText(validate.errors)}`);
    const named = document.components.schemas[$ref.split('/').at(-1)].properties.data.properties;
    t.same(
      Object.keys(event.data).filter((name) => !(name in named)),
      [],
      `${event.type}: every field is named`,
    );
  }
  t.same(new Set(received.map(({ event }) => event.type)), new Set([...TYPES, 'webhook.test']));
});
