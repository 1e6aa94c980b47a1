// needs: server, both stores
import t, { type Test } from 'tap';
import { sharedServer } from '../../support/harness.ts';
import { ended, submit, uploadPictures } from './jobs.ts';

const server = await sharedServer();
const account = await server.account({ plan: 'free', credits: 1_000 });
const { key } = account;
const [first = '', second = '', third = ''] = await uploadPictures(server, account, 3);

const resume = (jobId: string) => server.call(`/jobs/${jobId}/resume`, { key, method: 'POST' });
const remove = (assetId: string) => server.call(`/assets/${assetId}`, { key, method: 'DELETE' });
const attempts = async (rootId: string) =>
  (await server.call(`/jobs?rootJobId=${rootId}`, { key })).json.data as Array<{ id: string }>;
const credits = async () => (await server.call('/credits', { key })).json.data;

/** A job that ended with all of its items refused by the provider. */
async function rejected(t: Test, assetIds: readonly string[]) {
  const body = { op: 'edit', model: 'sandbox-image', prompt: '[sandbox:reject]', assetIds };
  const { status, json } = await submit(server, key, body);
  t.equal(status, 201, JSON.stringify(json));
  const job = await ended(server, key, json.data.id);
  t.match(job, { status: 'FAILED', errorCode: 'provider_rejected', retryable: false });
  return job;
}

t.test('a job is resumed five times, each time its latest attempt alone', async (t) => {
  const root = await rejected(t, [first]);
  let latest = root;
  for (let attemptNumber = 2; attemptNumber <= 6; attemptNumber += 1) {
    const { status, json } = await resume(latest.id);
    t.equal(status, 201, JSON.stringify(json));
    t.match(json.data, { attemptNumber, parentJobId: latest.id, rootJobId: root.id, totalItems: 1 });
    const again = await resume(latest.id);
    t.equal(again.status, 422);
    t.match(again.json.error, {
      code: 'job_not_resumable',
      retryable: false,
      details: { reason: 'NOT_LATEST_ATTEMPT', job: { maxResumes: 5 } },
    });
    latest = await ended(server, key, json.data.id);
    t.match(latest, { status: 'FAILED', failedItems: 1 });
  }
  const sixth = await resume(latest.id);
  t.equal(sixth.status, 422);
  t.match(sixth.json.error, {
    code: 'job_not_resumable',
    retryable: false,
    details: { reason: 'RESUME_LIMIT_EXCEEDED', job: { maxResumes: 5 } },
  });
  const early = await resume(root.id);
  t.match(
    early.json.error.details,
    { reason: 'NOT_LATEST_ATTEMPT' },
    'an early attempt is not the latest one',
  );
  t.equal((await attempts(root.id)).length, 6);
  t.match(await credits(), { balance: 1_000, held: 0 }, 'what a provider refused costs nothing');
});

t.test('a job that has ended well, or not at all, is not resumed', async (t) => {
  const slow = { op: 'generate', model: 'sandbox-image', prompt: '[sandbox:wait=60000]' };
  const { json } = await submit(server, key, slow);
  const running = await resume(json.data.id);
  t.equal(running.status, 400);
  t.match(running.json.error, { code: 'invalid_state', details: { status: /^(PENDING|PROCESSING)$/ } });
  await server.call(`/jobs/${json.data.id}/cancel`, { key, method: 'POST' });
  const done = await submit(server, key, { op: 'flip', assetIds: [first], wait: 60 });
  t.match(done.json.data, { status: 'COMPLETED' });
  const completed = await resume(done.json.data.id);
  t.equal(completed.status, 400);
  t.match(completed.json.error, { code: 'invalid_state', details: { status: 'COMPLETED' } });
  t.match((await resume('job_nope')).json.error, { code: 'job_not_found' });
});

t.test('resumes at once make one attempt', async (t) => {
  const root = await rejected(t, [first]);
  const answers = await Promise.all(Array.from({ length: 6 }, () => resume(root.id)));
  t.equal(answers.filter(({ status }) => status === 201).length, 1);
  for (const { json } of answers.filter(({ status }) => status !== 201)) {
    t.match(json.error, { code: 'job_not_resumable', details: { reason: 'NOT_LATEST_ATTEMPT' } });
  }
  const [latest, ...others] = await attempts(root.id);
  t.same(
    others.map(({ id }) => id),
    [root.id],
    'the root and one attempt besides',
  );
  await ended(server, key, latest?.id ?? '');
});

t.test('resumes at once of the last attempt but one make the last one, and none after it', async (t) => {
  let { id } = await rejected(t, [first]);
  const rootId = id;
  for (let resumes = 0; resumes < 5; resumes += 1) {
    const answers = await Promise.all([resume(id), resume(id)]);
    const made = answers.filter(({ status }) => status === 201);
    t.equal(made.length, 1);
    ({ id } = await ended(server, key, made[0]?.json.data.id));
  }
  const late = await Promise.all([resume(id), resume(id)]);
  for (const { json } of late) t.match(json.error.details, { reason: 'RESUME_LIMIT_EXCEEDED' });
  t.equal((await attempts(rootId)).length, 6);
});

t.test('an item whose source was deleted is dropped, and without any nothing is resumed', async (t) => {
  const root = await rejected(t, [first, second, third]);
  t.equal((await remove(second)).status, 204);
  const { status, json } = await resume(root.id);
  t.equal(status, 201, JSON.stringify(json));
  t.match(json.data, { attemptNumber: 2, totalItems: 2 });
  const next = await ended(server, key, json.data.id);
  t.same(
    next.items.map(({ index, assetId }: Record<string, unknown>) => ({ index, assetId })),
    [
      { index: 0, assetId: first },
      { index: 1, assetId: third },
    ],
    'what is left keeps its order and is numbered again',
  );
  await remove(first);
  await remove(third);
  const none = await resume(next.id);
  t.equal(none.status, 404);
  t.match(none.json.error, { code: 'asset_not_found', param: 'assetIds', retryable: false });
  t.same([...none.json.error.details.missing].sort(), [first, third].sort());
  t.equal((await attempts(root.id)).length, 2, 'the refused resume left no attempt');
});

t.test('a resume and its estimate say that the sandbox does the work', async (t) => {
  const { id } = await rejected(t, await uploadPictures(server, account, 1));
  const dry = await server.call(`/jobs/${id}/resume?dryRun=true`, { key, method: 'POST' });
  const resumed = await resume(id);
  for (const [answer, status] of [
    [dry, 200],
    [resumed, 201],
  ] as const) {
    t.match(answer, { status, json: { data: { sandbox: true } } });
    t.equal(answer.headers.get('x-service-warnings'), 'sandbox_model:sandbox-image');
  }
});
