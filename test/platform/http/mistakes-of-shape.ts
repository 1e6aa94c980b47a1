import { formOf, job, type Mistake, type Places, post, reference, render, transform } from './mistake.ts';

const PAGE = { html: '<p>a</p>' };
const CARD = { width: 120, height: 63 };
const removed = (param: string) => ({ param, remove: true as const });
const inQuery = (param: string, add: unknown) => ({ param, add, in: 'query' as const });

/** Right values in the wrong shape, place or unit, and what fixes them. */
export function mistakesOfShape({ key, png, assetId }: Places): Mistake[] {
  const assetIds = [assetId];
  const resized = { op: 'resize', parameters: { width: 9 } };
  return [
    [
      'steps by their ops',
      reference(assetId, { steps: [{ resize: { widht: 9 } }, { grayscale: true }, { blur: 2 }] }),
      [
        removed('steps[0].resize'),
        { param: 'steps[0].op', add: 'resize' },
        { param: 'steps[0].parameters', add: { widht: 9 } },
        removed('steps[1].grayscale'),
        { param: 'steps[1].op', add: 'grayscale' },
        removed('steps[2].blur'),
        { param: 'steps[2].op', add: 'blur' },
        { param: 'steps[2].parameters', add: { sigma: 2 } },
        { param: 'steps[0].parameters.widht', rename: 'steps[0].parameters.width' },
      ],
    ],
    [
      'steps as an object of ops',
      reference(assetId, { steps: { resize: { width: 9 }, flip: {} } }),
      [{ param: 'steps', replace: [resized, { op: 'flip' }] }],
    ],
    [
      'outputs by their ops',
      reference(assetId, {
        outputs: [
          { name: 'a', resize: { width: 9 } },
          { name: 'b', op: 'flip' },
        ],
      }),
      [
        removed('outputs[0].resize'),
        { param: 'outputs[0].op', add: 'resize' },
        { param: 'outputs[0].parameters', add: { width: 9 } },
      ],
    ],
    [
      'steps of a job by their ops',
      job({ assetIds, steps: [{ flip: {} }] }),
      [removed('steps[0].flip'), { param: 'steps[0].op', add: 'flip' }],
    ],
    [
      'steps of a preset by their ops',
      post('/presets', { name: 'Shape', steps: [{ flip: {} }] }),
      [removed('steps[0].flip'), { param: 'steps[0].op', add: 'flip' }],
    ],
    [
      'an op as a field of the call',
      reference(assetId, { resize: { width: 9 } }),
      [removed('resize'), { param: 'op', add: 'resize' }, { param: 'parameters', add: { width: 9 } }],
    ],
    [
      'an op as an object',
      reference(assetId, { op: { resize: { width: 9 } } }),
      [
        { param: 'op', replace: 'resize' },
        { param: 'parameters', add: { width: 9 } },
      ],
    ],
    [
      'a step around the call',
      reference(assetId, { transform: resized }),
      [removed('transform'), { param: 'op', add: 'resize' }, { param: 'parameters', add: { width: 9 } }],
    ],
    [
      'a job within a field',
      job({ job: { op: 'flip', assetIds } }),
      [removed('job'), { param: 'op', add: 'flip' }, { param: 'assetIds', add: assetIds }],
    ],
    [
      'parameters as JSON text',
      reference(assetId, { op: 'resize', parameters: '{"width": 9}' }),
      [{ param: 'parameters', replace: { width: 9 } }],
    ],
    [
      'parameters in a list',
      reference(assetId, { op: 'resize', parameters: [{ width: 9 }] }),
      [{ param: 'parameters', replace: { width: 9 } }],
    ],
    [
      'parameters as JSON in a query',
      transform({ op: 'resize', parameters: { width: 9 } }),
      [removed('parameters'), inQuery('width', 9)],
    ],
    [
      'parameters with brackets in a query',
      transform({ op: 'resize', 'parameters[width]': 9 }),
      [removed('parameters[width]'), inQuery('width', 9)],
    ],
    [
      'an image as an object',
      post('/images/transform', { image: { assetId }, op: 'flip' }),
      [removed('image'), { param: 'assetId', add: assetId }],
    ],
    [
      'an asset as an address',
      post('/images/transform', { url: assetId, op: 'flip' }),
      [{ param: 'url', rename: 'assetId' }],
    ],
    [
      'an asset of a job by another name',
      job({ op: 'flip', input: assetId }),
      [removed('input'), { param: 'assetIds', add: assetIds }],
    ],
    [
      'variants as parameters',
      job({ op: 'resize', assetIds, variants: [{ width: 9 }] }),
      [{ param: 'variants[0].width', rename: 'variants[0].parameters.width' }],
    ],
    [
      'variants by their names',
      job({ op: 'resize', assetIds, variants: { small: { width: 9 } } }),
      [
        { param: 'variants', replace: [{ name: 'small', width: 9 }] },
        { param: 'variants[0].width', rename: 'variants[0].parameters.width' },
      ],
    ],
    ['a wait as a flag', job({ op: 'flip', assetIds, wait: true }), [{ param: 'wait', replace: 60 }]],
    [
      'a region beside the list of regions, in a query',
      transform({ op: 'redact', x: 1, y: 1, width: 3, height: 2, style: 'blur' }),
      [
        ...['x', 'y', 'width', 'height'].map(removed),
        inQuery('regions', [{ x: 1, y: 1, width: 3, height: 2 }]),
      ],
    ],
    [
      'a rectangle in one text',
      transform({ op: 'crop', rect: '1,2,30,40' }),
      [removed('rect'), inQuery('x', 1), inQuery('y', 2), inQuery('width', 30), inQuery('height', 40)],
    ],
    [
      'a size of a page in one text',
      render({ ...PAGE, size: '120x63' }),
      [removed('size'), { param: 'width', add: 120 }, { param: 'height', add: 63 }],
    ],
    [
      'a viewport of a page',
      render({ ...PAGE, viewport: CARD }),
      [removed('viewport'), { param: 'width', add: 120 }, { param: 'height', add: 63 }],
    ],
    [
      'dimensions of a page in a list',
      render({ ...PAGE, dimensions: [120, 63] }),
      [removed('dimensions'), { param: 'width', add: 120 }, { param: 'height', add: 63 }],
    ],
    [
      'a size of a template in one text',
      post('/templates', { name: 'Shape', ...PAGE, size: '120x63' }),
      [removed('size'), { param: 'width', add: 120 }, { param: 'height', add: 63 }],
      'width',
    ],
    [
      'a size of a resize in one text',
      transform({ op: 'resize', size: '30x20' }),
      [removed('size'), inQuery('width', 30), inQuery('height', 20)],
    ],
    [
      'a size as a width',
      transform({ op: 'resize', width: '30x20' }),
      [{ param: 'width', replace: 30 }, inQuery('height', 20)],
    ],
    [
      'shares of an asset',
      reference(assetId, { op: 'crop', parameters: { x: '10%', y: '50%', width: '50%', height: '25%' } }),
      [
        { param: 'parameters.x', replace: 30 },
        { param: 'parameters.y', replace: 100 },
        { param: 'parameters.width', replace: 150 },
        { param: 'parameters.height', replace: 50 },
      ],
      'x',
    ],
    [
      'a share of the asset of a job',
      job({ assetIds, steps: [{ op: 'resize', parameters: { width: '50%' } }] }),
      [{ param: 'steps[0].parameters.width', replace: 150 }],
    ],
    [
      'the scale of a screen',
      render({ ...PAGE, ...CARD, deviceScaleFactor: 2 }),
      [{ param: 'deviceScaleFactor', rename: 'scale' }],
    ],
    [
      'rows in place of one',
      render({ ...PAGE, ...CARD, data: [{ a: 1 }] }),
      [{ param: 'data', replace: { a: 1 } }],
    ],
    ['opacity of 100', transform({ op: 'alpha', opacity: 80 }), [{ param: 'opacity', replace: 0.8 }]],
    [
      'a focal point of 100',
      transform({ op: 'crop', aspect: '1:1', focalX: 50, focalY: '25%' }),
      [
        { param: 'focalX', replace: 0.5 },
        { param: 'focalY', replace: 0.25 },
      ],
    ],
    [
      'a likeness of 100',
      transform({ op: 'compress', format: 'webp', minSsim: 95 }),
      [{ param: 'minSsim', replace: 0.95 }],
    ],
    ['percentiles of 1', transform({ op: 'normalize', upper: 0.99 }), [{ param: 'upper', replace: 99 }]],
    ['no height', transform({ op: 'resize', width: 9, height: 'auto' }), [removed('height')]],
    ['an empty height', transform({ op: 'resize', width: 9, height: '' }), [removed('height')]],
    [
      'an undefined quality',
      transform({ op: 'convert', format: 'webp', quality: 'undefined' }),
      [removed('quality')],
    ],
    [
      'a quality in words',
      transform({ op: 'convert', format: 'webp', quality: 'high' }),
      'suggest',
      'quality',
    ],
    ['a width in quotes', transform({ op: 'resize', width: '"30"' }), [{ param: 'width', replace: 30 }]],
    [
      'bytes with a sign between their thousands',
      transform({ op: 'compress', format: 'webp', maxBytes: '100,000' }),
      [{ param: 'maxBytes', replace: 100_000 }],
    ],
    [
      'a colour that is encoded twice',
      transform({ op: 'flatten', background: '%23ff8800' }),
      [{ param: 'background', replace: '#ff8800' }],
    ],
    [
      'a colour of programs',
      transform({ op: 'tint', color: '0xff8800' }),
      [{ param: 'color', replace: '#ff8800' }],
    ],
    [
      'a colour in numbers',
      transform({ op: 'tint', color: '255,0,0' }),
      [{ param: 'color', replace: 'rgb(255,0,0)' }],
    ],
    [
      'an angle by the name of its op',
      transform({ op: 'rotate', rotate: 90 }),
      [{ param: 'rotate', rename: 'angle' }],
    ],
    [
      'a format that is only read elsewhere',
      transform({ op: 'convert', format: 'heic' }),
      'suggest',
      'format',
    ],
    [
      'a dry run that is misspelt',
      {
        path: '/images/transform?op=flip&dry-run=1',
        raw: { method: 'POST', key, body: png, type: 'image/png' },
      },
      [
        { param: 'dry-run', rename: 'dryRun' },
        { param: 'dryRun', replace: true },
      ],
    ],
    [
      'the name of a file as that of an output',
      reference(assetId, {
        outputs: [
          { name: 'Small.webp', op: 'flip' },
          { name: 'b', op: 'negate' },
        ],
      }),
      [{ param: 'outputs[0].name', replace: 'small-webp' }],
    ],
    [
      'a form without a boundary',
      {
        path: '/images/transform?op=flip',
        raw: { method: 'POST', key, body: png, type: 'multipart/form-data' },
      },
      [{ param: 'Content-Type', remove: true, in: 'header' }],
      'body',
    ],
    [
      'an address as a text of a form',
      {
        path: '/images/transform?op=flip',
        raw: { method: 'POST', key, ...formOf({ file: 'https://a.example/a.png' }) },
      },
      'suggest',
      'file',
    ],
    [
      'a type by the end of its name',
      post('/assets', { contentType: 'png' }),
      [{ param: 'contentType', replace: 'image/png' }],
    ],
    [
      'every event',
      post('/webhook-endpoints', { url: 'https://93.184.216.34/hook', events: ['job.item.*'] }),
      [{ param: 'events', replace: ['job.item.completed', 'job.item.failed'] }],
    ],
    [
      'a number as a name',
      post('/presets', { name: 2026, steps: [{ op: 'flip' }] }),
      [{ param: 'name', replace: '2026' }],
    ],
    [
      'rows of a template in a job',
      job({ op: 'render_template', templateId: 'builtin-template-quote', rows: [{ quote: 'a' }] }),
      [{ param: 'rows', rename: 'items' }],
    ],
    [
      'a question among the parameters of an analysis',
      job({ op: 'analyze', assetIds, parameters: { question: 'What is it?' } }),
      [{ param: 'parameters.question', rename: 'parameters.prompt' }],
    ],
    [
      'a limit of another op, in another unit',
      transform({ op: 'resize', width: 9, maxKB: 20 }),
      'suggest',
      'maxKB',
    ],
    [
      'an endpoint that is active',
      post('/webhook-endpoints', { url: 'https://93.184.216.34/hook', active: true }),
      [{ param: 'active', rename: 'enabled' }],
    ],
  ];
}
