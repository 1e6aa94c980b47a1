import { get, job, type Mistake, type Places, post, reference, render, transform } from './mistake.ts';

const page = { html: '<p>a</p>', width: 90, height: 40 };
const region = { left: 1, top: 2, w: 3, h: 4 };

/** What people write in parameters because other services take it, and what fixes it. */
export function mistakesInParameters({ assetId }: Places): Mistake[] {
  return [
    [
      'a region beside the list of regions',
      reference(assetId, { op: 'redact', parameters: { x: 1, y: 1, width: 3, height: 2 } }),
      [
        ...['x', 'y', 'width', 'height'].map((name) => ({
          param: `parameters.${name}`,
          remove: true as const,
        })),
        { param: 'parameters.regions', add: [{ x: 1, y: 1, width: 3, height: 2 }] },
      ],
      'x',
    ],
    ['radius of a blur', transform({ op: 'blur', radius: 5 }), [{ param: 'radius', rename: 'sigma' }]],
    [
      'intensity of a blur',
      transform({ op: 'blur', intensity: 5 }),
      [{ param: 'intensity', rename: 'sigma' }],
    ],
    [
      'aspectRatio of a crop',
      transform({ op: 'crop', aspectRatio: '16:9' }),
      [{ param: 'aspectRatio', rename: 'aspect' }],
    ],
    ['content of a text', transform({ op: 'text', content: 'Hi' }), [{ param: 'content', rename: 'text' }]],
    [
      'a colour as a list of numbers',
      reference(assetId, { op: 'border', parameters: { width: 4, color: [255, 0, 0] } }),
      [{ param: 'parameters.color', replace: 'rgb(255, 0, 0)' }],
      'color',
    ],
    [
      'steps as texts',
      reference(assetId, { steps: ['grayscale', 'flip'] }),
      [
        { param: 'steps[0]', replace: { op: 'grayscale' } },
        { param: 'steps[1]', replace: { op: 'flip' } },
      ],
    ],
    [
      'the type of a step',
      reference(assetId, { steps: [{ type: 'resize', parameters: { width: 9 } }] }),
      [{ param: 'steps[0].type', rename: 'steps[0].op' }],
    ],
    [
      'outputs by their names',
      reference(assetId, { outputs: { one: { op: 'flip' }, two: { op: 'negate' } } }),
      [
        {
          param: 'outputs',
          replace: [
            { name: 'one', op: 'flip' },
            { name: 'two', op: 'negate' },
          ],
        },
      ],
    ],
    [
      'left and top of a crop',
      transform({ op: 'crop', left: 0, top: 0, width: 5, height: 5 }),
      [
        { param: 'left', rename: 'x' },
        { param: 'top', rename: 'y' },
      ],
    ],
    [
      'ssim',
      transform({ op: 'compress', ssim: 0.98, format: 'webp' }),
      [{ param: 'ssim', rename: 'minSsim' }],
    ],
    [
      'a target in kB',
      transform({ op: 'compress', target: '100kb', format: 'webp' }),
      [
        { param: 'target', rename: 'maxBytes' },
        { param: 'maxBytes', replace: 100_000 },
      ],
    ],
    [
      'bytes with a unit',
      transform({ op: 'compress', maxBytes: '200KB' }),
      [{ param: 'maxBytes', replace: 200_000 }],
    ],
    [
      'the size of a font',
      transform({ op: 'text', text: 'a', fontSize: 40 }),
      [{ param: 'fontSize', rename: 'size' }],
    ],
    [
      'fit=crop',
      transform({ op: 'resize', width: 9, height: 9, fit: 'crop' }),
      [{ param: 'fit', replace: 'cover' }],
    ],
    [
      'fit=lfill',
      transform({ op: 'resize', width: 9, height: 9, fit: 'lfill' }),
      [{ param: 'fit', replace: 'cover' }],
    ],
    [
      'fit=scale-down',
      transform({ op: 'resize', width: 9, fit: 'scale-down' }),
      [{ param: 'fit', replace: 'inside' }],
    ],
    [
      'regions by other names',
      transform({ op: 'redact', regions: [region] }),
      [
        { param: 'regions[0].left', rename: 'regions[0].x' },
        { param: 'regions[0].top', rename: 'regions[0].y' },
        { param: 'regions[0].w', rename: 'regions[0].width' },
        { param: 'regions[0].h', rename: 'regions[0].height' },
      ],
      'regions',
    ],
    ['800px', transform({ op: 'resize', width: '800px' }), [{ param: 'width', replace: 800 }]],
    [
      'w and h',
      transform({ op: 'resize', w: 80, h: 60 }),
      [
        { param: 'w', rename: 'width' },
        { param: 'h', rename: 'height' },
      ],
    ],
    [
      'quality 0.8',
      transform({ op: 'convert', format: 'webp', quality: 0.8 }),
      [{ param: 'quality', replace: 80 }],
    ],
    ['opacity in per cent', transform({ op: 'alpha', opacity: '50%' }), [{ param: 'opacity', replace: 0.5 }]],
    ['Resize', transform({ op: 'Resize', width: 9 }), [{ param: 'op', replace: 'resize' }]],
    [
      'a flag in words',
      transform({ op: 'resize', width: 9, enlarge: 'yes' }),
      [{ param: 'enlarge', replace: true }],
    ],
    [
      'degrees',
      transform({ op: 'rotate', degrees: '90deg' }),
      [
        { param: 'degrees', rename: 'angle' },
        { param: 'angle', replace: 90 },
      ],
    ],
    [
      'a mirror',
      transform({ op: 'flip', direction: 'h' }),
      [
        { param: 'direction', rename: 'axis' },
        { param: 'axis', replace: 'horizontal' },
      ],
    ],
    ['16/9', transform({ op: 'crop', aspect: '16/9' }), [{ param: 'aspect', replace: '16:9' }]],
    [
      'frames 0-9',
      transform({ op: 'convert', format: 'webp', frames: '0-0' }),
      [{ param: 'frames', replace: '0..0' }],
    ],
    [
      'parameters beside the op in JSON',
      reference(assetId, { op: 'resize', width: '80', fit: 'Crop' }),
      [
        { param: 'width', rename: 'parameters.width' },
        { param: 'fit', rename: 'parameters.fit' },
        { param: 'parameters.width', replace: 80 },
        { param: 'parameters.fit', replace: 'cover' },
      ],
    ],
    [
      'params',
      reference(assetId, { op: 'resize', params: { width: 9 } }),
      [{ param: 'params', rename: 'parameters' }],
    ],
    [
      'every fault of every step',
      reference(assetId, {
        steps: [
          { op: 'resize', parameters: { widht: 9 } },
          { op: 'blr', parameters: { sigma: '2px' } },
          { op: 'convert', format: 'webp' },
        ],
      }),
      [
        { param: 'steps[2].format', rename: 'steps[2].parameters.format' },
        { param: 'steps[0].parameters.widht', rename: 'steps[0].parameters.width' },
        { param: 'steps[1].op', replace: 'blur' },
        { param: 'steps[1].parameters.sigma', replace: 2 },
      ],
    ],
    [
      'faults of outputs',
      reference(assetId, {
        outputs: [
          { name: 'a', op: 'resize', parameters: { with: 9 } },
          { name: 'b', steps: [{ op: 'thumbnail', parameters: { size: '64px' } }] },
        ],
      }),
      [
        { param: 'outputs[0].parameters.with', rename: 'outputs[0].parameters.width' },
        { param: 'outputs[1].steps[0].parameters.size', replace: 64 },
      ],
    ],
    [
      'one asset under the name of one',
      job({ op: 'flip', assetId }),
      [
        { param: 'assetId', rename: 'assetIds' },
        { param: 'assetIds', replace: [assetId] },
      ],
    ],
    ['n', job({ op: 'generate', prompt: 'a', n: 2 }), [{ param: 'n', rename: 'count' }]],
    [
      'steps as an object',
      job({ assetIds: [assetId], steps: { op: 'flip' } }),
      [{ param: 'steps', replace: [{ op: 'flip' }] }],
    ],
    [
      'a parameter that the variants inherit',
      job({
        op: 'resize',
        assetIds: [assetId],
        parameters: { widht: 9 },
        variants: [{}, { parameters: { hieght: 5 } }],
      }),
      [
        { param: 'parameters.widht', rename: 'parameters.width' },
        { param: 'variants[1].parameters.hieght', rename: 'variants[1].parameters.height' },
      ],
    ],
    [
      'a template by another name',
      render({ template: 'social-card' }),
      [{ param: 'template', rename: 'templateId' }],
    ],
    [
      'the size of a page in text',
      render({ ...page, width: '90px', format: 'jepg' }),
      [
        { param: 'width', replace: 90 },
        { param: 'format', replace: 'jpeg' },
      ],
    ],
    [
      'one of several formats',
      transform({ op: 'compress', minSsim: 0.9, format: 'avfi,webp' }),
      [{ param: 'format', replace: ['avif', 'webp'] }],
    ],
    ['null', render({ ...page, css: null }), [{ param: 'css', remove: true }]],
    ['a status of jobs', get('/jobs', { status: 'compelted' }), [{ param: 'status', replace: 'COMPLETED' }]],
    ['a field of jobs', get('/jobs', { fields: 'id,sttaus' }), [{ param: 'fields', replace: 'id,status' }]],
    ['a number in words', get('/assets', { perPage: '5px' }), [{ param: 'perPage', replace: 5 }]],
    [
      'a field of metadata',
      post('/images/metadata', { assetID: assetId }),
      [{ param: 'assetID', rename: 'assetId' }],
    ],
    [
      'a field of a comparison',
      post('/images/compare', { assetId, other_asset_id: assetId }),
      [{ param: 'other_asset_id', rename: 'otherAssetId' }],
    ],
    [
      'sizes of a template',
      post('/templates', { name: 'Card', html: '<p>a</p>', width: '90px', heigth: 40 }),
      [
        { param: 'heigth', rename: 'height' },
        { param: 'width', replace: 90 },
      ],
      'height',
    ],
    [
      'the type of a reserved asset',
      post('/assets', { content_type: 'image/png' }),
      [{ param: 'content_type', rename: 'contentType' }],
      'contentType',
    ],
    [
      'the bounds of a ticket',
      post('/upload-tickets', { contentTypes: 'image/png', maxBytes: '20kB' }),
      [
        { param: 'contentTypes', replace: ['image/png'] },
        { param: 'maxBytes', replace: 20_000 },
      ],
    ],
    ['a colour in words', transform({ op: 'tint', color: 'reddish' }), 'suggest', 'color'],
    [
      'a place between two',
      transform({ op: 'text', text: 'a', position: 'southaest' }),
      'suggest',
      'position',
    ],
    ['a name between two', transform({ op: 'sepia', fort: 'png' }), 'suggest', 'fort'],
    [
      'a focal point of another service',
      transform({ op: 'resize', width: 9, height: 9, fit: 'cover', 'fp-x': 0.3, 'fp-y': 0.4 }),
      [
        { param: 'fp-x', rename: 'focalX' },
        { param: 'fp-y', rename: 'focalY' },
      ],
    ],
    ...[{ x: 0.3, y: 0.4 }, [0.3, 0.4], '0.3,0.4'].map((focalPoint): Mistake => {
      const parameters = { width: 9, height: 9, fit: 'cover', focalPoint };
      return [
        `a focal point as ${JSON.stringify(focalPoint)}`,
        reference(assetId, { op: 'resize', parameters }),
        [
          { param: 'parameters.focalPoint', remove: true },
          { param: 'parameters.focalX', add: 0.3 },
          { param: 'parameters.focalY', add: 0.4 },
        ],
        'focalPoint',
      ];
    }),
    [
      'the largest radius',
      transform({ op: 'round_corners', radius: 'max' }),
      [{ param: 'radius', replace: '50%' }],
    ],
    ['invert', transform({ op: 'invert' }), [{ param: 'op', replace: 'negate' }]],
    ['monochrome', transform({ op: 'monochrome' }), [{ param: 'op', replace: 'grayscale' }]],
    ['black_and_white', transform({ op: 'black_and_white' }), [{ param: 'op', replace: 'grayscale' }]],
    [
      'withoutEnlargement',
      transform({ op: 'resize', width: 9, withoutEnlargement: true }),
      [
        { param: 'withoutEnlargement', remove: true },
        { param: 'enlarge', add: false, in: 'query' },
      ],
    ],
    [
      'noProgressive',
      reference(assetId, { op: 'convert', parameters: { format: 'jpeg', noProgressive: false } }),
      [
        { param: 'parameters.noProgressive', remove: true },
        { param: 'parameters.progressive', add: true },
      ],
      'noProgressive',
    ],
    [
      'interlace',
      transform({ op: 'convert', format: 'jpeg', interlace: true }),
      [{ param: 'interlace', rename: 'progressive' }],
    ],
    [
      'mimeType',
      transform({ op: 'convert', mimeType: 'image/webp' }),
      [{ param: 'mimeType', rename: 'format' }],
    ],
    [
      'steps as one text',
      reference(assetId, { steps: 'grayscale,flip' }),
      [
        { param: 'steps', replace: ['grayscale', 'flip'] },
        { param: 'steps[0]', replace: { op: 'grayscale' } },
        { param: 'steps[1]', replace: { op: 'flip' } },
      ],
    ],
    ['a job of the type flip', job({ type: 'flip', assetIds: [assetId] }), [{ param: 'type', rename: 'op' }]],
    [
      'a job that is synchronous',
      job({ op: 'flip', assetIds: [assetId], sync: true }),
      [
        { param: 'sync', rename: 'wait' },
        { param: 'wait', replace: 60 },
      ],
    ],
    [
      'lang of a text to read',
      post('/images/read-text', { assetId, lang: 'en' }),
      [
        { param: 'lang', remove: true, in: 'body' },
        { param: 'language', add: 'en', in: 'query' },
        { param: 'language', replace: 'eng' },
      ],
    ],
  ];
}
