// needs: server
import t, { type Test } from 'tap';
import { ACCOUNTS_COLLECTION } from '../../../src/product/accounts/store.ts';
import { BillingStore } from '../../../src/product/billing/store.ts';
import { sharedServer } from '../../support/harness.ts';
import { ended, submit, uploadPictures } from './jobs.ts';

const server = await sharedServer();
const account = await server.account({ plan: 'free', credits: 1_000 });
const { key } = account;
const [first = '', second = ''] = await uploadPictures(server, account, 2);

const credits = async () => (await server.call('/credits', { key })).json.data;
const dryRun = (json: object) => server.call('/jobs?dryRun=true', { key, json });
const resume = (jobId: string, json?: object, query = '') =>
  server.call(`/jobs/${jobId}/resume${query}`, { key, method: 'POST', ...(json && { json }) });

t.test('prompt and count are read within parameters, where the catalogue lists them', async (t) => {
  const inside = { op: 'generate', parameters: { prompt: 'A kite', count: 2, seed: 7 } };
  const { status, json } = await submit(server, key, inside);
  t.equal(status, 201, JSON.stringify(json));
  t.match(json.data, { totalItems: 2, prompt: 'A kite' });
  t.same(json.data.parameters, { seed: 7 }, 'the model receives what is left');
  await ended(server, key, json.data.id);
  const raw = await dryRun({ type: 'ai-generate', parameters: { prompt: 'A kite', count: 3 } });
  t.match(raw.json.data, { totalItems: 3 });
  const same = await dryRun({ op: 'generate', prompt: 'A kite', parameters: { prompt: 'A kite' } });
  t.equal(same.status, 200, 'saying it twice is no contradiction');
  const step = await dryRun({ steps: [{ op: 'generate', parameters: { prompt: 'A kite' } }] });
  t.equal(step.status, 200, JSON.stringify(step.json));
});

t.test('a prompt or a count that differs in its two places is refused on the parameter', async (t) => {
  const calls: Array<[param: string, body: object]> = [
    ['parameters.prompt', { op: 'generate', prompt: 'A kite', parameters: { prompt: 'A boat' } }],
    ['parameters.count', { op: 'generate', prompt: 'A kite', count: 1, parameters: { count: 2 } }],
    ['steps[0].parameters.prompt', { steps: [{ op: 'generate', prompt: 'a', parameters: { prompt: 'b' } }] }],
  ];
  for (const [param, body] of calls) {
    const { status, json } = await dryRun(body);
    t.same([status, json.error.param], [400, param]);
    t.match(json.error.message, /send it once, beside the op/);
  }
});

t.test('generate in a chain is refused with the way round it', async (t) => {
  const steps = [
    { op: 'generate', prompt: 'A kite' },
    { op: 'resize', parameters: { width: 8 } },
  ];
  const { status, json } = await dryRun({ steps });
  t.same([status, json.error.param], [400, 'steps[0].op']);
  t.match(json.error.message, /a job of its own: run it, then send its resultAssetId in assetIds/);
});

t.test(
  'a price above maxCredits is refused before anything is held, and one up to it is accepted',
  async (t) => {
    const before = await credits();
    const body = { op: 'edit', model: 'sandbox-image', prompt: 'Blue', assetIds: [first, second] };
    const { credits: price } = (await dryRun(body)).json.data;
    t.ok(price > 1);
    const refused = await submit(server, key, { ...body, maxCredits: price - 1 });
    t.equal(refused.status, 402);
    t.match(refused.json.error, {
      code: 'insufficient_credit',
      param: 'maxCredits',
      details: { price, maxCredits: price - 1 },
    });
    t.match(refused.json.error.message, /raise it, or send fewer items\.$/);
    const tooLow = await submit(server, key, { ...body, maxCredits: price / 2 - 1 });
    t.match(tooLow.json.error.message, /: raise it\.$/, 'no single item is that cheap');
    t.same(await credits(), before, 'nothing is held');
    const dry = await dryRun({ ...body, maxCredits: price - 1 });
    t.same(
      [dry.status, dry.json.error],
      [402, { ...refused.json.error, requestId: dry.json.error.requestId }],
    );
    t.equal((await dryRun({ ...body, maxCredits: price })).status, 200);
    for (const maxCredits of [-1, 1.5, '3'])
      t.equal((await submit(server, key, { ...body, maxCredits })).json.error.param, 'maxCredits');
    const accepted = await submit(server, key, { ...body, maxCredits: price });
    t.equal(accepted.status, 201, JSON.stringify(accepted.json));
    t.match(await ended(server, key, accepted.json.data.id), { status: 'COMPLETED', actualCredits: price });
  },
);

t.test('overage is part of the price that maxCredits limits', async (t) => {
  const full = await server.account({ plan: 'free', credits: 10 });
  const [asset = ''] = await uploadPictures(server, full, 1);
  const billing = new BillingStore(server.stores.documents);
  const month = (await billing.find(full.id))?.processing.period ?? '';
  const accounts = server.stores.documents.collection(ACCOUNTS_COLLECTION);
  const period = month === '' ? new Date().toISOString().slice(0, 7) : month;
  await accounts.updateOne(
    { _id: full.id },
    { $set: { processing: { period, used: 500, reservations: [] } } },
  );
  const body = { op: 'resize', assetIds: [asset], parameters: { width: 8 } };
  const refused = await server.call('/jobs', { key: full.key, json: { ...body, maxCredits: 0 } });
  t.match([refused.status, refused.json.error?.details], [402, { price: 1, maxCredits: 0 }]);
  const dry = await server.call('/jobs?dryRun=true', { key: full.key, json: { ...body, maxCredits: 0 } });
  t.match([dry.status, dry.json.error?.details], [402, { price: 1, maxCredits: 0 }]);
  const accepted = await server.call('/jobs', { key: full.key, json: { ...body, maxCredits: 1 } });
  t.equal(accepted.status, 201, JSON.stringify(accepted.json));
});

/** A job of two items of which one was refused by the provider, and one failed for a reason that may pass. */
async function halfHopeless(t: Test) {
  const prompt = '[sandbox:reject@0] [sandbox:fail@1]';
  const { status, json } = await submit(server, key, { op: 'edit', prompt, assetIds: [first, second] });
  t.equal(status, 201, JSON.stringify(json));
  const job = await ended(server, key, json.data.id);
  t.match(job.items, [{ retryable: false }, { retryable: true }]);
  return job;
}

t.test('a resume names the items that failed for good, in a dry run and in its answer', async (t) => {
  const job = await halfHopeless(t);
  const priced = await resume(job.id, undefined, '?dryRun=true');
  t.equal(priced.status, 200, JSON.stringify(priced.json));
  t.match(priced.json.data, { totalItems: 2, notRetryableItems: [0], sufficientCredit: true });
  t.equal((await server.call(`/jobs?rootJobId=${job.id}`, { key })).json.data.length, 1, 'none was made');
  const refused = await resume(job.id, { maxCredits: 1 });
  t.match([refused.status, refused.json.error], [402, { param: 'maxCredits' }]);
  const { status, json } = await resume(job.id, { maxCredits: priced.json.data.credits });
  t.equal(status, 201, JSON.stringify(json));
  t.same(json.data.notRetryableItems, [0]);
  t.match(json.message, /1 of its items failed for a reason that does not pass by itself/);
});

t.test('a field in the body of a resume is refused, with where it belongs', async (t) => {
  const job = await halfHopeless(t);
  for (const body of [{ parameters: { width: 8 } }, { assetIds: [first] }, { max_credits: 3 }]) {
    const { status, json } = await resume(job.id, body);
    const [name] = Object.keys(body);
    t.same([status, json.error.param], [400, name]);
    t.match(json.error.message, /a resume repeats the job as it was submitted/);
  }
  t.equal((await resume(job.id)).status, 201, 'no body at all is as before');
});
