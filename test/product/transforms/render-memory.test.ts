// needs: server, browser, alone
import { readFileSync } from 'node:fs';
import t from 'tap';
import { startServer } from '../../support/harness.ts';
import { browserProcesses } from '../../workers/render/processes.ts';
import { ended, submit } from '../jobs/jobs.ts';
import { rasterOf, refusalOf } from './calls.ts';

const MAX_MEGABYTES = 256;
const LIME = [0, 255, 0, 255];
const SCORE = '800';
/** Pages that take gigabytes, by what they do. */
const LARGE = {
  'layers that blur what is behind them': {
    width: 2_000,
    height: 2_000,
    html: '<div style="position:absolute;inset:0;backdrop-filter:blur(40px)"></div>'.repeat(300),
  },
  'copies of copies of a drawing': {
    width: 100,
    height: 100,
    html: `<svg>${Array.from(
      { length: 13 },
      (_, level) =>
        `<g id="g${level + 1}">${level === 0 ? '<rect width="9" height="9"/>' : `<use href="#g${level}"/>`.repeat(10)}</g>`,
    ).join('')}</svg>`,
  },
};

const server = await startServer(t, {
  settings: {
    REQUESTS_PER_MINUTE: '100000',
    RENDER_MEMORY_MEGABYTES: String(MAX_MEGABYTES),
    // A busy machine may take long to fill so much memory.
    RENDER_TIMEOUT_MS: '110000',
  },
});
const neighbour = await server.account();
const plain = await templateOf(neighbour.key, { html: '<body style="margin:0;background:lime">' });

for (const [name, page] of Object.entries(LARGE)) {
  t.test(`${name} are refused by their memory, and the neighbour's page is drawn`, async (t) => {
    const { key } = await server.account();
    const templateId = await templateOf(key, page);
    const refused = render(key, templateId);
    const drawn = await render(neighbour.key, plain);
    t.same((await rasterOf(drawn.bytes)).at(5, 5), LIME);
    const answer = await refused;
    t.match(answer.json.error.message, /needs more memory than the 256 MB that a page may have/);
    t.match(refusalOf(answer), {
      status: 400,
      code: 'invalid_param',
      param: 'templateId',
      retryable: false,
      details: { reason: 'page_too_large', limit: MAX_MEGABYTES * 1024 * 1024 },
    });
    t.equal((await server.call('/usage', { key })).json.data.total.sync, 0, 'it costs nothing');
    const small = await templateOf(key, { html: '<body style="margin:0;background:lime">' });
    t.same((await rasterOf((await render(key, small)).bytes)).at(5, 5), LIME, 'a small one is drawn');
  });
}

t.test('a row of a job fails for good, is not tried again and costs nothing', async (t) => {
  const { key } = await server.account();
  const templateId = await templateOf(key, LARGE['layers that blur what is behind them']);
  const submitted = await submit(server, key, { op: 'render_template', templateId, items: [{}] });
  const job = await ended(server, key, submitted.json.data.id);
  t.match(job, { status: 'FAILED', errorCode: 'invalid_param', retryable: false });
  t.equal((await server.call('/usage', { key })).json.data.total.credits, 0);
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  t.notMatch(metrics, /^darkroom_job_item_retries_total\{[^\n]*type="render"[^\n]*\} [1-9]/m);
});

t.test('the system ends browsers first when its memory is used up', async (t) => {
  if (process.platform !== 'linux') return t.pass('Linux alone', { skip: 'only Linux has such a score' });
  await render(neighbour.key, plain);
  const first = browserProcesses().filter(({ pid, group, zombie }) => pid === group && !zombie);
  t.ok(first.length > 0);
  for (const { pid } of first) t.equal(readFileSync(`/proc/${pid}/oom_score_adj`, 'utf8').trim(), SCORE);
});

function render(key: string, templateId: string) {
  return server.call('/images/render', { key, json: { templateId } });
}

async function templateOf(key: string, page: object): Promise<string> {
  const json = { name: 'A page', width: 20, height: 20, ...page };
  return (await server.call('/templates', { key, json })).json.data.id;
}
