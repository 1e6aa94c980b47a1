// needs: server
import sharp from 'sharp';
import t, { type Test } from 'tap';
import { type Answer, sharedServer } from '../../support/harness.ts';
import { type Aid, job, type Mistake, post, type RawCall, reference, render, transform } from './mistake.ts';
import { mistakesElsewhere } from './mistakes-elsewhere.ts';
import { mistakesInCalls } from './mistakes-in-calls.ts';
import { mistakesInParameters } from './mistakes-in-parameters.ts';
import { mistakesOfShape } from './mistakes-of-shape.ts';
import { asSent, type Call, correctedBy } from './wrong-calls.ts';

const server = await sharedServer();
const { key } = await server.account();
const create = { width: 300, height: 200, channels: 3, background: 'red' } as const;
const png = new Uint8Array(await sharp({ create }).png().toBuffer());
const assetId: string = (await server.call('/assets/upload', { key, body: png, type: 'image/png' })).json.data
  .id;

function send(call: Call | RawCall): Promise<Answer> {
  if ('raw' in call) return server.call(call.path, call.raw);
  const { method, path, query, json } = call;
  if (method !== undefined)
    return server.call(`${path}?${new URLSearchParams(query as Record<string, string>)}`, {
      method,
      key,
      ...(json && { json }),
    });
  const address = `${path}?${new URLSearchParams({ ...(query as Record<string, string>), dryRun: 'true' })}`;
  if (json !== undefined) return server.call(address, { method: 'POST', key, json });
  return server.call(address, { method: 'POST', key, body: png, type: 'image/png' });
}

type Sort = 'fix' | 'suggest' | 'data' | 'words' | 'taken' | 'warning';

/** What a program finds in an answer. */
function aidIn({ status, json, headers }: Answer): Sort {
  if (status < 300) return headers.get('x-service-warnings') === null ? 'taken' : 'warning';
  const { fix, suggest, instead, ...details } = json?.error?.details ?? {};
  if (fix !== undefined) return 'fix';
  if (suggest !== undefined || instead !== undefined) return 'suggest';
  const facts = ['allowed', 'supported', 'missing', 'limit', 'min', 'max', 'pattern', 'found'];
  return facts.some((name) => name in details) ? 'data' : 'words';
}

const sortOf = (aid: Aid): Sort => {
  if (typeof aid === 'string') return aid;
  return 'warns' in aid ? 'warning' : 'fix';
};

const PLACES = { key, png, assetId };
const MISTAKES = [...mistakesInParameters(PLACES), ...mistakesInCalls(PLACES)];
const MIN_CORRECTABLE = 80;

t.test('a mistake is answered by its field, and by all that fixes it', async (t) => {
  const tally = await answered(t, MISTAKES);
  t.ok(MISTAKES.length >= 95, `${MISTAKES.length} mistakes`);
  const correctable = tally.fix + tally.suggest;
  t.ok(correctable >= MIN_CORRECTABLE, `a program fixes ${correctable} of them without reading a sentence`);
});

t.test(
  'so is a mistake with jobs, templates, presets, webhooks, uploads, addresses and models',
  async (t) => {
    const { data, words } = await answered(t, mistakesElsewhere(PLACES));
    t.same([data, words], [0, 0]);
  },
);

t.test('so is a right value in the wrong shape, place or unit', async (t) => {
  const { data, words, taken } = await answered(t, mistakesOfShape(PLACES));
  t.same([data, words, taken], [0, 0, 0]);
});

/** Makes mistakes, and the calls that their corrections make of them. @returns how many answers were of each sort. */
async function answered(t: Test, mistakes: readonly Mistake[]): Promise<Record<Sort, number>> {
  const tally = { fix: 0, suggest: 0, data: 0, words: 0, taken: 0, warning: 0 };
  for (const [what, call, aid, param, code = 'invalid_param'] of mistakes) {
    const sent = 'raw' in call ? call : asSent(call);
    const answer = await send(sent);
    const { error } = answer.json ?? {};
    const said = `${what}: ${answer.status} ${error?.message} ${JSON.stringify(error?.details)}`;
    const sort = aidIn(answer);
    tally[sort] += 1;
    t.equal(sort, sortOf(aid), said);
    if (answer.status < 300) {
      if (typeof aid === 'object' && 'warns' in aid)
        t.match(answer.headers.get('x-service-warnings'), aid.warns, what);
      continue;
    }
    const isCorrected = Array.isArray(aid);
    const isFieldCorrected = isCorrected && aid[0]?.in !== 'request';
    t.same(
      [error?.code, error?.param],
      [code, param ?? (isFieldCorrected ? aid[0]?.param : undefined)],
      said,
    );
    if (!isCorrected) continue;
    t.same(error?.details?.fix, aid, said);
    if ('raw' in sent) continue;
    const passed = await send(correctedBy(sent, error?.details?.fix ?? []));
    t.ok(passed.status < 300, `${what}: ${passed.json?.error?.message}`);
  }
  t.comment(`${mistakes.length} mistakes: ${JSON.stringify(tally)}`);
  return tally;
}

t.test('what has no certain correction is refused without one', async (t) => {
  const url = 'https://a.example/a.png';
  const rows: Array<[what: string, call: Call]> = [
    [
      'a share of an image of a URL',
      post('/images/transform', { url, op: 'resize', parameters: { width: '50%' } }),
    ],
    ['a width with a point between the thousands', transform({ op: 'resize', width: '1.000' })],
    ['a crop that other services fill', transform({ op: 'resize', width: 9, height: 9, crop: 'fill' })],
    ['a fill of one of two colours', transform({ op: 'text', text: 'a', fill: 'red' })],
    ['a level that is no quality', transform({ op: 'threshold', level: 100 })],
    ['a fit as an op', transform({ op: 'cover', format: 'webp' })],
    ['a flip with its axis in the name', transform({ op: 'vflip' })],
    ['an extra', transform({ op: 'resize', widht: 9, token: 'a' })],
    ['a name beside the right one', transform({ op: 'resize', width: 9, widht: 8 })],
    ['a value out of bounds', transform({ op: 'resize', widht: 99_999 })],
    ['a collection of inputs', job({ op: 'flip', collection: 'a' })],
    ['work that is not named', reference(assetId, { parameters: { width: 9 } })],
  ];
  for (const [what, call] of rows) {
    const { status, json } = await send(asSent(call));
    t.match({ status, code: json.error?.code }, { status: 400, code: 'invalid_param' }, what);
    t.equal(json.error.details?.fix, undefined, what);
  }
});

t.test('the short name of a built-in template is taken, and every error names its page', async (t) => {
  t.equal((await send(render({ templateId: 'social-card' }))).status, 200);
  const { json } = await send(render({ templateId: 'nothing' }));
  t.equal(json.error.docUrl, '/docs/errors/not_found');
  const { json: unauthorized } = await server.call('/account');
  t.equal(unauthorized.error.docUrl, '/docs/errors/unauthorized');
});

t.test('a dry run refuses a key of idempotency that the submit would refuse', async (t) => {
  const headers = { 'idempotency-key': 'k'.repeat(300) };
  const { status, json } = await server.call('/jobs?dryRun=true', {
    ...{ key, headers },
    json: { op: 'flip', assetIds: [assetId] },
  });
  t.match({ status, param: json.error?.param }, { status: 400, param: 'Idempotency-Key' });
});
