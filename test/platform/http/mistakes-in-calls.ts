import type { CallOptions } from '../../support/harness.ts';
import {
  type Aid,
  formOf,
  get,
  job,
  type Mistake,
  type Places,
  pathFix,
  post,
  type RawCall,
  reference,
  render,
  transform,
} from './mistake.ts';

const HEIC = Buffer.concat([Buffer.from([0, 0, 0, 24]), Buffer.from('ftypheic\0\0\0\0heicmif1')]);

const schemeFix: Aid = [{ param: 'Authorization', replace: 'ApiKey <API_KEY>', in: 'header' }];

/** What people do wrong with credentials, files, paths, jobs and bodies. */
export function mistakesInCalls({ key, png, assetId }: Places): Mistake[] {
  const image: CallOptions = { method: 'POST', key, body: png, type: 'image/png' };
  const raw = (path: string, options: CallOptions): RawCall => ({ path, raw: options });
  const account = (headers: Record<string, string>) => raw('/account', { headers });
  const flipped = (options: CallOptions) =>
    raw('/images/transform?op=flip', { method: 'POST', key, ...options });
  const known = (method: string, path: string, json?: object) =>
    raw(path, { method, key, ...(json && { json }) });
  const assetIds = [assetId];
  const generate = { op: 'generate', prompt: 'A boat' };
  return [
    [
      'a key as Bearer',
      account({ authorization: `Bearer ${key}` }),
      schemeFix,
      'Authorization',
      'unauthorized',
    ],
    ['a key in X-API-Key', account({ 'x-api-key': key }), schemeFix, 'Authorization', 'unauthorized'],
    ['a key in the query', raw(`/account?api_key=${key}`, {}), schemeFix, 'Authorization', 'unauthorized'],
    [
      'a key by Basic',
      account({ authorization: `Basic ${btoa(key)}` }),
      schemeFix,
      'Authorization',
      'unauthorized',
    ],
    ['a key without a scheme', account({ authorization: key }), schemeFix, 'Authorization', 'unauthorized'],
    [
      'a key cut short',
      account({ authorization: `ApiKey ${key.slice(0, -4)}` }),
      'words',
      'Authorization',
      'unauthorized',
    ],
    ['a width twice', raw('/images/transform?op=resize&width=9&width=8', image), 'suggest', 'width'],
    ['no op', transform({ width: 9 }), 'suggest', 'op'],
    ['operation for op', transform({ operation: 'flip' }), [{ param: 'operation', rename: 'op' }], 'op'],
    ['several ops in one', transform({ op: 'flip,negate' }), 'suggest', 'op'],
    [
      'parameters of a step beside its op',
      reference(assetId, { steps: [{ op: 'resize', width: 9 }] }),
      [{ param: 'steps[0].width', rename: 'steps[0].parameters.width' }],
    ],
    [
      'steps as an object',
      reference(assetId, { steps: { op: 'flip' } }),
      [{ param: 'steps', replace: [{ op: 'flip' }] }],
    ],
    [
      'steps in the query',
      raw(`/images/transform?steps=${encodeURIComponent('[{"op":"flip"}]')}`, image),
      'suggest',
      'steps',
    ],
    [
      'an image as base64',
      known('POST', '/images/transform', { op: 'flip', image: 'iVBORw0KGgo=' }),
      [{ param: 'image', decode: 'base64' }],
      'image',
    ],
    [
      'an image as a data: address',
      known('POST', '/images/transform', { url: 'data:image/png;base64,iVBORw0KGgo=', op: 'flip' }),
      [{ param: 'url', decode: 'data-url' }],
      'url',
    ],
    [
      'a part named image',
      flipped(formOf({ image: [png] })),
      [{ param: 'image', rename: 'file', in: 'part' }],
      'file',
    ],
    ['two files', flipped(formOf({ file: [png, png] })), 'words', 'file'],
    [
      'the usual type of curl',
      flipped({ body: png, type: 'application/x-www-form-urlencoded' }),
      'suggest',
      'Content-Type',
      'unsupported_media_type',
    ],
    [
      'octets',
      flipped({ body: png, type: 'application/octet-stream' }),
      'suggest',
      'file',
      'unsupported_format',
    ],
    ['bytes without a type', flipped({ body: png }), 'suggest', 'Content-Type', 'unsupported_media_type'],
    [
      'the type of another format',
      flipped({ body: png, type: 'image/jpeg' }),
      [{ param: 'Content-Type', replace: 'image/png', in: 'header' }],
      'file',
      'unsupported_format',
    ],
    [
      'a PDF',
      flipped({ body: '%PDF-1.7', type: 'application/pdf' }),
      'data',
      'Content-Type',
      'unsupported_media_type',
    ],
    [
      'a HEIC',
      flipped({ body: new Uint8Array(HEIC), type: 'image/heic' }),
      'data',
      'file',
      'unsupported_format',
    ],
    [
      'a crop outside of the picture',
      transform({ op: 'crop', x: 290, y: 0, width: 80, height: 9 }),
      'suggest',
      'width',
    ],
    ['regions as text', transform({ op: 'redact', regions: '10,10,50,50' }), 'suggest', 'regions'],
    [
      'ids of assets by another name',
      job({ op: 'flip', assets: assetIds }),
      [{ param: 'assets', rename: 'assetIds' }],
    ],
    [
      'assets as objects',
      job({ op: 'flip', assetIds: [{ id: assetId }] }),
      [{ param: 'assetIds', replace: assetIds }],
    ],
    [
      'an address within Markdown',
      known('POST', '/images/transform', { url: '[a](https://a.example/b.png)', op: 'flip' }),
      [{ param: 'url', replace: 'https://a.example/b.png' }],
    ],
    ['a wait with its unit', job({ op: 'flip', assetIds, wait: '1s' }), [{ param: 'wait', replace: 1 }]],
    ['one asset as text', job({ op: 'flip', assetIds: assetId }), [{ param: 'assetIds', replace: assetIds }]],
    [
      'addresses in place of assets',
      job({ op: 'flip', urls: ['https://a.example/a.png'] }),
      'suggest',
      'urls',
    ],
    ['an op beside steps', reference(assetId, { op: 'flip', steps: [{ op: 'flip' }] }), 'suggest', 'op'],
    [
      'an address to call back',
      job({ op: 'flip', assetIds, callbackUrl: 'https://a.example' }),
      'suggest',
      'callbackUrl',
    ],
    [
      'a dry run in the body',
      post('/jobs', { op: 'flip', assetIds, dryRun: true }),
      [
        { param: 'dryRun', remove: true, in: 'body' },
        { param: 'dryRun', add: true, in: 'query' },
      ],
    ],
    ['the results of a job', known('GET', '/jobs/job_1/results'), 'suggest', undefined, 'not_found'],
    ['a DELETE of a job', known('DELETE', '/jobs/job_1'), 'suggest', undefined, 'method_not_allowed'],
    ['an asset in place of a job', known('GET', `/jobs/${assetId}`), 'suggest', 'jobId', 'job_not_found'],
    ['a path without api', known('GET', '//v1/jobs'), pathFix('/api/v1/jobs'), undefined, 'not_found'],
    ['a slash at the end', known('GET', '/jobs/'), pathFix('/api/v1/jobs'), undefined, 'not_found'],
    [
      'a path that is misspelt',
      known('POST', '/images/tranform'),
      pathFix('/api/v1/images/transform'),
      undefined,
      'not_found',
    ],
    [
      'an op as a path',
      known('POST', '/images/resize'),
      [
        { param: 'method', replace: 'POST', in: 'request' },
        ...pathFix('/api/v1/images/transform'),
        { param: 'op', add: 'resize', in: 'query' },
      ],
      undefined,
      'not_found',
    ],
    [
      'a PATCH of an asset',
      known('PATCH', `/assets/${assetId}`, {}),
      'suggest',
      undefined,
      'method_not_allowed',
    ],
    [
      'a comma too many',
      raw('/jobs', { method: 'POST', key, body: '{"op": "flip",}', type: 'application/json' }),
      'suggest',
      'body',
    ],
    [
      'JSON without its type',
      raw('/jobs', { method: 'POST', key, body: '{"op": "flip"}' }),
      [{ param: 'Content-Type', replace: 'application/json', in: 'header' }],
      'Content-Type',
      'unsupported_media_type',
    ],
    ['an op of a model while one waits', transform({ op: 'upscale' }), 'suggest', 'op'],
    [
      'operation and params in steps',
      reference(assetId, { steps: [{ operation: 'resize', params: { width: 9 } }] }),
      'taken',
    ],
    [
      'a share of the width',
      transform({ op: 'resize', width: '50%' }),
      [{ param: 'width', replace: 150 }],
      'width',
    ],
    [
      'a margin around a logo',
      reference(assetId, {
        steps: [{ op: 'overlay', parameters: { layerAssetId: assetId, scale: 0.1, margin: '4%' } }],
      }),
      'taken',
    ],
    ['a collection of inputs', job({ op: 'flip', collection: 'a' }), 'suggest', 'assetIds'],
    [
      'a built-in template by its short name',
      render({ templateId: 'social-card', data: { title: 'A', author: 'B' } }),
      'taken',
    ],
    [
      'a gravity that crops nothing',
      transform({ op: 'resize', width: 9, height: 9, gravity: 'attention' }),
      { warns: 'no_effect:gravity' },
    ],
    [
      'a type that the answer has not',
      flipped({ ...image, headers: { accept: 'image/webp' } }),
      { warns: 'no_effect:Accept' },
    ],
    ['more rows than a page has', get('/assets', { perPage: 1_000 }), { warns: 'clamped:perPage' }],
    ['a longer wait than there is', job({ op: 'flip', assetIds, wait: 120 }), { warns: 'clamped:wait' }],
    [
      'a key that is too long, in a dry run',
      raw('/jobs?dryRun=true', {
        key,
        json: { op: 'flip', assetIds },
        headers: { 'idempotency-key': 'k'.repeat(300) },
      }),
      'words',
      'Idempotency-Key',
    ],
    [
      'a shape as a size, in a dry run',
      job({ ...generate, parameters: { size: '4:3' } }),
      'suggest',
      'parameters.size',
    ],
    [
      'a wide shape as a size',
      job({ ...generate, parameters: { size: '16:9' } }),
      'suggest',
      'parameters.size',
    ],
    ['a parameter of another op', transform({ op: 'resize', width: 9, sigma: 2 }), 'suggest', 'sigma'],
    ['half a rectangle', transform({ op: 'crop', x: 1 }), 'data', 'width'],
    ['a parameter beside a preset', transform({ preset: 'builtin-avatar', width: 9 }), 'suggest', 'width'],
  ];
}
