import {
  get,
  job,
  type Mistake,
  type Places,
  pathFix,
  post,
  type RawCall,
  render,
  transform,
} from './mistake.ts';

const PAGE = { name: 'Card', html: '<p>a</p>', width: 90, height: 40 };
const HOOK = 'https://93.184.216.34/hook';
const RESIZE = { op: 'resize', parameters: { width: 9 } };

/** What people do wrong with jobs, templates, presets, webhooks, uploads, addresses and models. */
export function mistakesElsewhere({ key, assetId }: Places): Mistake[] {
  const raw = (method: string, path: string, json?: object): RawCall => ({
    path,
    raw: { method, key, ...(json && { json }) },
  });
  const assetIds = [assetId];
  return [
    [
      'a width with a unit in a job',
      job({ op: 'resize', assetIds, parameters: { width: '300px' } }),
      [{ param: 'parameters.width', replace: 300 }],
    ],
    [
      'a dry run that is misspelt',
      raw('POST', '/jobs?dryrun=true', { ...RESIZE, assetIds }),
      [{ param: 'dryrun', rename: 'dryRun' }],
    ],
    [
      'an op of a job that is misspelt',
      job({ op: 'rezise', assetIds, parameters: { width: 9 } }),
      [{ param: 'op', replace: 'resize' }],
    ],
    [
      'a type that is misspelt',
      job({ type: 'ai-genrate', prompt: 'a' }),
      [{ param: 'type', replace: 'ai-generate' }],
    ],
    [
      'a type beside an op',
      job({ op: 'flip', type: 'process', assetIds }),
      [{ param: 'type', remove: true }],
    ],
    [
      'assets in the query',
      { path: '/jobs', query: { assetIds: assetId }, json: { op: 'flip' } },
      [
        { param: 'assetIds', remove: true, in: 'query' },
        { param: 'assetIds', add: assetId, in: 'body' },
        { param: 'assetIds', replace: assetIds },
      ],
    ],
    [
      'assets in one text',
      job({ op: 'flip', assetIds: `${assetId}, ${assetId}` }),
      [{ param: 'assetIds', replace: [assetId, assetId] }],
    ],
    [
      'a list as the text of JSON',
      job({ op: 'flip', assetIds: JSON.stringify(assetIds) }),
      [{ param: 'assetIds', replace: assetIds }],
    ],
    [
      'a model for a deterministic step',
      job({ assetIds, steps: [{ ...RESIZE, model: 'sandbox-image' }] }),
      [{ param: 'steps[0].model', remove: true }],
    ],
    [
      'a variant in the singular',
      job({ op: 'resize', assetIds, variant: [{ parameters: { width: 9 } }] }),
      [{ param: 'variant', rename: 'variants' }],
    ],
    ['a limit as text', job({ op: 'flip', from: { limit: '5' } }), [{ param: 'from.limit', replace: 5 }]],
    ['two selections of images', job({ op: 'flip', assetIds, from: { limit: 5 } }), 'suggest', 'from'],
    ['less than nothing to pay', job({ op: 'flip', assetIds, maxCredits: -1 }), 'suggest', 'maxCredits'],
    ['too many pictures at once', job({ op: 'generate', prompt: 'a', count: 99 }), 'suggest', 'count'],
    [
      'a model that is misspelt',
      job({ op: 'generate', prompt: 'a', model: 'sandbox-imgae' }),
      [{ param: 'model', replace: 'sandbox-image' }],
    ],
    [
      'a model that nobody offers',
      job({ op: 'generate', prompt: 'a', model: 'dall-e-9' }),
      'suggest',
      'model',
    ],
    ['facts as a job', job({ op: 'read_metadata', assetIds }), 'suggest', 'op'],
    ['an op by another word', job({ op: 'ocr', assetIds }), 'suggest', 'op'],
    ['a job without work', job({ assetIds }), 'suggest', 'op'],
    [
      'a status by another word',
      get('/jobs', { status: 'done' }),
      [{ param: 'status', replace: 'COMPLETED' }],
    ],
    [
      'a type of jobs by its op',
      get('/jobs', { type: 'generate' }),
      [{ param: 'type', replace: 'ai-generate' }],
    ],
    [
      'a dry run in the body of a resume',
      raw('POST', '/jobs/job_1/resume', { dryRun: true }),
      [
        { param: 'dryRun', remove: true, in: 'body' },
        { param: 'dryRun', add: true, in: 'query' },
      ],
    ],
    [
      'the title of a template',
      post('/templates', { ...PAGE, name: undefined, title: 'Card' }),
      [{ param: 'title', rename: 'name' }],
      'name',
    ],
    ['a template that is too wide', post('/templates', { ...PAGE, width: 5_000 }), 'suggest', 'width'],
    [
      'the body of a template',
      post('/templates', { name: 'Card', body: '<p>a</p>', width: 90, height: 40 }),
      [{ param: 'body', rename: 'html' }],
      'html',
    ],
    [
      'one variable as text',
      post('/templates', { ...PAGE, html: '<p>{{a}}</p>', variables: 'a' }),
      [{ param: 'variables', replace: ['a'] }],
    ],
    [
      'templates by another word',
      get('/templates', { filter: 'mine' }),
      [{ param: 'filter', replace: 'user' }],
    ],
    [
      'a template that is misspelt',
      raw('GET', '/templates/social-crd'),
      'suggest',
      'templateId',
      'not_found',
    ],
    [
      'a template of a render that is misspelt',
      render({ templateId: 'social-crd' }),
      'suggest',
      'templateId',
      'not_found',
    ],
    [
      'data as the text of JSON',
      render({ templateId: 'quote', data: '{"quote": "a"}' }),
      [{ param: 'data', replace: { quote: 'a' } }],
    ],
    [
      'a scale with its sign',
      render({ ...PAGE, name: undefined, scale: '2x' }),
      [{ param: 'scale', replace: 2 }],
    ],
    ['a template and html', render({ html: PAGE.html, templateId: 'quote' }), 'suggest', 'html'],
    [
      'the size of a template',
      render({ templateId: 'quote', data: { quote: 'a' }, width: 90 }),
      [{ param: 'width', remove: true }],
    ],
    [
      'one step of a preset',
      post('/presets', { name: 'One', steps: RESIZE }),
      [{ param: 'steps', replace: [RESIZE] }],
    ],
    [
      'the operations of a preset',
      post('/presets', { name: 'Two', operations: [RESIZE] }),
      [{ param: 'operations', rename: 'steps' }],
      'steps',
    ],
    [
      'a preset that is misspelt',
      raw('GET', '/presets/builtin-avatr'),
      'suggest',
      'slug',
      'preset_not_found',
    ],
    [
      'a preset of a call that is misspelt',
      transform({ preset: 'builtin-avatr' }),
      'suggest',
      'preset',
      'preset_not_found',
    ],
    [
      'a template in place of a preset',
      raw('GET', '/presets/tpl_000000000000000000000000'),
      'suggest',
      'slug',
      'preset_not_found',
    ],
    [
      'an event that is misspelt',
      post('/webhook-endpoints', { url: HOOK, events: ['job.complete'] }),
      [{ param: 'events[0]', replace: 'job.completed' }],
      'events',
    ],
    [
      'one event as text',
      post('/webhook-endpoints', { url: HOOK, events: 'job.completed' }),
      [{ param: 'events', replace: ['job.completed'] }],
    ],
    [
      'the address of an endpoint',
      post('/webhook-endpoints', { endpoint: HOOK }),
      [{ param: 'endpoint', rename: 'url' }],
      'url',
    ],
    [
      'an address without TLS',
      post('/webhook-endpoints', { url: 'http://93.184.216.34/hook' }),
      'suggest',
      'url',
    ],
    [
      'an asset in place of an endpoint',
      raw('GET', `/webhook-endpoints/${assetId}`),
      'suggest',
      'endpointId',
      'not_found',
    ],
    [
      'endpoints by their short name',
      raw('POST', '/webhooks', {}),
      pathFix('/api/v1/webhook-endpoints'),
      undefined,
      'not_found',
    ],
    [
      'an upload by its short name',
      raw('POST', '/upload', {}),
      pathFix('/api/v1/assets/upload'),
      undefined,
      'not_found',
    ],
    [
      'an address of an upload',
      raw('POST', '/assets/upload', { uri: 'https://a.example/a.png' }),
      [{ param: 'uri', rename: 'url' }],
      'url',
    ],
    [
      'the type of a reserved asset',
      post('/assets', { mimeType: 'image/png' }),
      [{ param: 'mimeType', rename: 'contentType' }],
      'contentType',
    ],
    ['more rows by another name', get('/assets', { limit: 2 }), { warns: 'did_you_mean:perPage' }],
    [
      'a distance beyond the last',
      get('/assets', { similarTo: assetId, distance: 9 }),
      'suggest',
      'distance',
    ],
    ['a distance from nothing', get('/assets', { distance: 3 }), 'suggest', 'distance'],
    [
      'a cursor beside likeness',
      get('/assets', { similarTo: assetId, cursor: 'a' }),
      [{ param: 'cursor', remove: true }],
    ],
    ['a filter beside likeness', get('/assets', { similarTo: assetId, status: 'DONE' }), 'taken'],
    [
      'a job in place of an asset',
      raw('GET', '/assets/job_000000000000000000000000'),
      'suggest',
      'assetId',
      'asset_not_found',
    ],
    [
      'a link that ends too soon',
      get(`/assets/${assetId}/link`, { expiresInSeconds: 10 }),
      'suggest',
      'expiresInSeconds',
    ],
    [
      'the life of a link by another name',
      get(`/assets/${assetId}/link`, { ttl: 600 }),
      { warns: 'did_you_mean:expiresInSeconds' },
    ],
    ['a PUT of an asset', raw('PUT', `/assets/${assetId}`, {}), 'suggest', undefined, 'method_not_allowed'],
    [
      'the title of a collection',
      post('/collections', { title: 'Corrected' }),
      [{ param: 'title', rename: 'name' }],
      'name',
    ],
    [
      'an op of an address that is misspelt',
      post('/delivery-links', { assetId, ...RESIZE, op: 'rezise' }),
      [{ param: 'op', replace: 'resize' }],
    ],
    [
      'widths in one text',
      post('/delivery-links', { assetId, ...RESIZE, widths: '320, 640' }),
      [{ param: 'widths', replace: [320, 640] }],
    ],
    [
      'an address of two works',
      post('/delivery-links', { assetId, ...RESIZE, preset: 'builtin-avatar' }),
      'suggest',
      'preset',
    ],
    ['an op of the catalogue that is misspelt', raw('GET', '/ops/rezise'), 'suggest', 'op', 'not_found'],
    ['a view of the ops', get('/ops', { view: 'name' }), [{ param: 'view', replace: 'names' }]],
    [
      'the kind of a report',
      post('/feedback', { type: 'bug', message: 'a' }),
      [{ param: 'type', rename: 'kind' }],
      'kind',
    ],
    [
      'a palette in the body',
      post('/images/metadata', { assetId, palette: 5 }),
      [
        { param: 'palette', remove: true, in: 'body' },
        { param: 'palette', add: 5, in: 'query' },
      ],
    ],
    [
      'a link in place of bytes, in the body',
      { path: '/images/transform', query: {}, json: { assetId, op: 'flip', response: 'url' } },
      [
        { param: 'response', remove: true, in: 'body' },
        { param: 'response', add: 'url', in: 'query' },
      ],
    ],
    [
      'two images and a field',
      post('/images/compare', { assetId, otherAssetId: assetId, ssimulacra2: true }),
      [
        { param: 'ssimulacra2', remove: true, in: 'body' },
        { param: 'ssimulacra2', add: true, in: 'query' },
      ],
    ],
    [
      'an address without a scheme',
      post('/images/transform', { url: 'a.example/a.png', op: 'flip' }),
      'suggest',
      'url',
    ],
    [
      'a quality beyond the last',
      transform({ op: 'convert', format: 'webp', quality: 150 }),
      'suggest',
      'quality',
    ],
    ['a part of a pixel', transform({ op: 'resize', width: 100.5 }), 'suggest', 'width'],
    [
      'JSON of Python',
      {
        path: '/jobs',
        raw: { method: 'POST', key, type: 'application/json', body: "{'op': 'flip', 'wait': None}" },
      },
      'suggest',
      'body',
    ],
  ];
}
