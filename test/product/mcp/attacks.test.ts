// needs: server
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { startServer } from '../../support/harness.ts';
import { type Answered, call, connectedTo, photo } from './client.ts';

/** Calls in a row, and what of the heap they may leave behind. */
const CALLS_IN_A_ROW = 1_000;
const MAX_GROWTH_BYTES = 24 * 1024 * 1024;

const server = await startServer(t, { settings: { REQUESTS_PER_MINUTE: '1000000' } });
const owner = await server.account({ credits: 1_000 });
const intruder = await server.account({ credits: 1_000 });
const [own, foreign] = [
  await connectedTo(t, server.url, owner.key),
  await connectedTo(t, server.url, intruder.key),
];

/** The id of something that the owner made. */
async function made(path: string, json: object): Promise<string> {
  const answer = await server.call(path, { key: owner.key, json });
  if (answer.status >= 300) throw new Error(answer.bytes.toString());
  return answer.json.data.id;
}

const errorIn = ({ data: { error } }: Answered) => ({ ...error, requestId: undefined });

t.test('what another account has does not exist for any tool', async (t) => {
  const body = await photo(60, 40);
  const uploaded = await server.call('/assets/upload', { key: owner.key, body, type: 'image/jpeg' });
  const asset: string = uploaded.json.data.id;
  const link: string = (await server.call(`/assets/${asset}/link`, { key: owner.key })).json.data.url;
  const mine: string = (
    await server.call('/assets/upload', { key: intruder.key, body: await photo(60, 40), type: 'image/jpeg' })
  ).json.data.id;
  const steps = [{ op: 'flip' }];
  const job = await made('/jobs', { op: 'flip', assetIds: [asset] });
  const preset = 'secret-look';
  await made('/presets', { name: 'Secret look', slug: preset, steps });
  const template = await made('/templates', { name: 'Secret', html: '<p>a</p>', width: 20, height: 20 });

  /** Each call with an id of the owner, and the same with one that nobody has. */
  const rows: Array<
    [what: string, name: string, argsOf: (id: string) => Record<string, unknown>, id: string]
  > = [
    ['run', 'run', (input) => ({ input, steps }), asset],
    ['run by a link', 'run', (id) => ({ input: link.replace(asset, id), steps }), asset],
    [
      'run a layer',
      'run',
      (id) => ({ input: mine, steps: [{ op: 'overlay', parameters: { layerAssetId: id } }] }),
      asset,
    ],
    ['run a preset', 'run', (id) => ({ input: mine, preset: id }), preset],
    [
      'run an output',
      'run',
      (id) => ({
        input: id,
        outputs: [
          { name: 'a', op: 'flip' },
          { name: 'b', op: 'sepia' },
        ],
      }),
      asset,
    ],
    ['a dry run', 'run', (input) => ({ input, steps, dryRun: true }), asset],
    ['look', 'look', (input) => ({ input }), asset],
    ['facts', 'facts', (input) => ({ input }), asset],
    ['text', 'facts', (input) => ({ input, include: ['text'] }), asset],
    ['compare', 'compare', (input) => ({ input, other: mine }), asset],
    ['compare with', 'compare', (other) => ({ input: mine, other }), asset],
    ['render', 'render', (id) => ({ template: id }), template],
    ['submit', 'job', (id) => ({ action: 'submit', op: 'flip', inputs: [id] }), asset],
    ['submit a preset', 'job', (id) => ({ action: 'submit', preset: id, inputs: [mine] }), preset],
    [
      'submit a template',
      'job',
      (id) => ({ action: 'submit', op: 'render_template', template: id, items: [{}] }),
      template,
    ],
    ['read a job', 'job', (id) => ({ action: 'get', id }), job],
    ['cancel a job', 'job', (id) => ({ action: 'cancel', id }), job],
    ['resume a job', 'job', (id) => ({ action: 'resume', id }), job],
    ['read a preset', 'presets', (id) => ({ action: 'get', preset: id }), preset],
    ['change a preset', 'presets', (id) => ({ action: 'save', preset: id, steps }), preset],
  ];
  for (const [what, name, argsOf, id] of rows) {
    const nobodys = /^(ast|job|tpl)_/.test(id)
      ? `${id.slice(0, 4)}${'0'.repeat(id.length - 4)}`
      : 'secret-book';
    const [theirs, none] = [
      await call(foreign, name, argsOf(id)),
      await call(foreign, name, argsOf(nobodys)),
    ];
    t.ok(theirs.isError && none.isError, `${what}: ${theirs.text.slice(0, 200)}`);
    const spelled = (answer: Answered, named: string) =>
      JSON.stringify(errorIn(answer)).replaceAll(named, 'ID');
    t.equal(spelled(theirs, id), spelled(none, nobodys), what);
  }
  t.equal((await call(own, 'presets', { action: 'get', preset })).isError, false, 'its owner still has it');
  t.notMatch((await call(foreign, 'presets', { action: 'list' })).text, /secret-look/);
  t.notMatch((await call(foreign, 'job', { action: 'get', id: job })).text, /COMPLETED/);
});

t.test('a key that is revoked ends the conversation at the next call', async (t) => {
  const account = await server.account();
  const client = await connectedTo(t, server.url, account.key);
  t.notOk((await call(client, 'ops')).isError);
  const { email, password } = account;
  const { token } = (await server.call('/auth/sign-in', { json: { email, password } })).json.data;
  const revoked = await server.call(`/api-keys/${account.keyId}`, { method: 'DELETE', session: token });
  t.equal(revoked.status, 204);
  for (const name of ['ops', 'presets', 'ticket'])
    await t.rejects(call(client, name, { action: 'list' }), /401|unauthorized/i);
});

t.test(`${CALLS_IN_A_ROW} calls in a row leave nothing in memory`, async (t) => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const used = () => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const ask = async (count: number) => {
    for (let number = 0; number < count; number += 1) {
      const answer = await call(own, 'ops', { name: number % 2 === 0 ? 'flip' : 'resize' });
      if (answer.isError) throw new Error(answer.text);
    }
  };
  await ask(100);
  const before = used();
  await ask(CALLS_IN_A_ROW);
  const growth = used() - before;
  t.comment(`${Math.round(growth / 1024)} kB`);
  t.ok(growth < MAX_GROWTH_BYTES, `${growth} bytes more`);
});
