// needs: server
import { isDeepStrictEqual } from 'node:util';
import sharp from 'sharp';
import t from 'tap';
import { TRANSFORM_OPS } from '../../../src/product/transforms/transform-schema.ts';
import { type Answer, sharedServer } from '../../support/harness.ts';
import { asSent, type Call, type Correction, correctedBy, mistaken, randomFrom } from './wrong-calls.ts';

const server = await sharedServer();
const { key } = await server.account();
const create = { width: 300, height: 300, channels: 3, background: 'red' } as const;
const png = new Uint8Array(await sharp({ create }).png().toBuffer());
const assetId: string = (await server.call('/assets/upload', { key, body: png, type: 'image/png' })).json.data
  .id;

/** Sends a call as a dry run; presets, templates and reserved assets are really made. */
function send({ method, path, query, json, form }: Call): Promise<Answer> {
  const address = `${path}?${new URLSearchParams(query as Record<string, string>)}`;
  if (method !== undefined) return server.call(address, { method, key, ...(json && { json }) });
  if (json !== undefined) return server.call(address, { method: 'POST', key, json });
  if (form === undefined) return server.call(address, { method: 'POST', key, body: png, type: 'image/png' });
  const body = new FormData();
  for (const [name, text] of Object.entries(form)) body.append(name, String(text));
  body.append('file', new Blob([png]), 'a.png');
  return server.call(address, { method: 'POST', key, body });
}

const DRY = { dryRun: 'true' };
const SMALL = { width: 20, fit: 'cover', format: 'webp', quality: 70 };

const TEMPLATE = {
  name: 'Corrected',
  html: '<p>{{title}}</p>',
  description: 'A page',
  width: 90,
  height: 50,
};
const templateId: string = (await server.call('/templates', { key, json: TEMPLATE })).json.data.id;

/** Calls that pass, each a fresh one. */
const RIGHT: Array<() => Call> = [
  ...TRANSFORM_OPS.filter(({ op }) => op !== 'crop').flatMap(({ op, example: { parameters } }) => [
    () => ({ path: '/images/transform', query: { op, ...parameters, ...DRY } }),
    () => ({ path: '/images/transform', query: DRY, form: { op, ...parameters } }),
    () => ({ path: '/images/transform', query: DRY, json: { assetId, op, parameters: { ...parameters } } }),
    () => ({ path: '/jobs', query: DRY, json: { assetIds: [assetId], op, parameters: { ...parameters } } }),
  ]),
  ...[() => stepsOf(), () => [...stepsOf(), ...stepsOf()]].flatMap((steps) => [
    () => ({ path: '/images/transform', query: DRY, json: { assetId, steps: steps() } }),
    () => ({ path: '/images/transform', query: DRY, form: { steps: steps() } }),
    () => ({ path: '/jobs', query: DRY, json: { assetIds: [assetId], steps: steps() } }),
    () => ({ path: '/presets', query: {}, json: { name: 'Corrected', steps: steps() } }),
  ]),
  () => ({ path: '/images/transform', query: DRY, form: { outputs: outputsOf() } }),
  () => ({ path: '/images/transform', query: DRY, json: { assetId, outputs: outputsOf() } }),
  () => ({
    path: '/jobs',
    query: DRY,
    json: {
      assetIds: [assetId],
      op: 'resize',
      variants: [{ parameters: { ...SMALL } }, { parameters: { width: 9 } }],
    },
  }),
  ...[1, 2, 3, 4].map(() => () => ({
    path: '/images/render',
    query: DRY,
    json: { html: '<p>a</p>', width: 90, height: 50, format: 'webp', quality: 80, scale: 2, data: {} },
  })),
  ...[1, 2, 3].flatMap(() => [
    () => ({
      method: 'GET',
      path: '/jobs',
      query: { status: 'COMPLETED', perPage: 5, fields: 'status,outcome' },
    }),
    () => ({ method: 'GET', path: '/jobs/counts', query: { type: 'process' } }),
    () => ({ method: 'GET', path: '/assets', query: { status: 'DONE', origin: 'upload', perPage: 7 } }),
    () => ({ method: 'GET', path: `/assets/${assetId}/link`, query: { expiresInSeconds: 90 } }),
    () => ({ path: '/images/metadata', query: { palette: 5 } }),
    () => ({ path: '/images/metadata', query: {}, json: { assetId } }),
    () => ({ path: '/images/compare', query: {}, json: { assetId, otherAssetId: assetId } }),
    () => ({ path: '/assets/upload', query: { palette: 4, metadata: true } }),
    () => ({ path: '/assets', query: {}, json: { contentType: 'image/png', collection: 'corrected' } }),
    () => ({
      path: '/upload-tickets',
      query: {},
      json: { contentTypes: ['image/png', 'image/webp'], maxBytes: 4_000, expiresInSeconds: 60 },
    }),
    () => ({ path: '/templates', query: {}, json: TEMPLATE }),
    () => ({ method: 'PUT', path: `/templates/${templateId}`, query: {}, json: TEMPLATE }),
  ]),
];

function stepsOf() {
  return [
    { op: 'resize', parameters: { ...SMALL } },
    { op: 'blur', parameters: { sigma: 3 } },
    { op: 'round_corners', parameters: { radius: '50%', format: 'png' } },
  ];
}

function outputsOf() {
  return [
    { name: 'a', op: 'resize', parameters: { ...SMALL } },
    { name: 'b', steps: stepsOf() },
  ];
}

t.test('every call that is taken for right passes', async (t) => {
  for (const right of RIGHT) {
    const call = asSent(right());
    const { status, json } = await send(call);
    t.ok(status < 300, `${JSON.stringify(call)}: ${json?.error?.message}`);
  }
});

t.test('a fix makes the call pass, and is what was meant', async (t) => {
  const random = randomFrom(20_261_125);
  const tally = { wrong: 0, fixed: 0, partly: 0, refused: 0 };
  while (tally.wrong < 300) {
    const right = RIGHT[Math.floor(random() * RIGHT.length)]?.();
    if (right === undefined) throw new Error('There are right calls.');
    const wrong = structuredClone(right);
    const mistakes = Array.from({ length: 1 + Math.floor(random() * 3) }, () => mistaken(wrong, random));
    const made = mistakes.filter((mistake) => mistake !== null);
    if (made.length === 0 || isDeepStrictEqual(wrong, right)) continue;
    tally.wrong += 1;
    const sent = asSent(wrong);
    const refused = await send(sent);
    if (refused.status < 300) continue;
    tally.refused += 1;
    const { param, message, details } = refused.json.error;
    const what = `${made.join(', ')}: ${JSON.stringify(sent)} → ${param}: ${message} ${JSON.stringify(details?.fix)}`;
    if (details?.mistakes !== undefined) {
      const fixes = details.mistakes.flatMap(({ fix = [] }: { fix?: Correction[] }) => fix);
      const unfixed = details.mistakes.filter(({ fix }: { fix?: Correction[] }) => fix === undefined);
      tally.partly += 1;
      const isExtra = unfixed.every(({ param: named }: { param: string }) => /zzqx$/.test(named));
      if (isExtra)
        t.same(
          withoutExtra(correctedBy(sent, fixes)),
          withoutExtra(asSent(right)),
          `${what} ${JSON.stringify(details.mistakes)}`,
        );
    }
    if (details?.fix === undefined) continue;
    tally.fixed += 1;
    const corrected = correctedBy(sent, details.fix);
    const passed = await send(corrected);
    t.ok(passed.status < 300, `${what} → ${passed.json?.error?.message}`);
    if (/ignored_parameter:zzqx/.test(passed.headers.get('x-service-warnings') ?? ''))
      delete corrected.query.zzqx;
    t.same(sortedText(corrected), sortedText(asSent(right)), what);
  }
  t.comment(tally);
  t.ok(tally.fixed > 0.6 * tally.refused, `${tally.fixed} of ${tally.refused} refusals have a fix`);
});

/** The text of a call without the extra field that nobody meant. */
function withoutExtra(call: Call): unknown {
  return JSON.parse(JSON.stringify(sortedText(call), (name, value) => (name === 'zzqx' ? undefined : value)));
}

/** The call with its fields in order, and its texts as what they mean. */
function sortedText(call: Call): unknown {
  return JSON.parse(JSON.stringify(call), (_name, value) => {
    if (typeof value === 'string' && /^\s*[[{]/.test(value)) return sortedText(JSON.parse(value));
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
  });
}
