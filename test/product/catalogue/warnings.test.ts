// needs: nothing
import t from 'tap';
import { STEP_WARNING_CODES, stepWarningsOf } from '../../../src/product/catalogue/checks/warnings.ts';
import type { GivenParameters } from '../../../src/product/catalogue/op.ts';
import { compileSteps } from '../../../src/product/catalogue/plan/compile.ts';
import type { CompiledSegment } from '../../../src/product/catalogue/plan/pass.ts';
import { sentSteps } from '../../../src/product/catalogue/plan/step.ts';
import { onlyOfferedModels, readModels } from '../../../src/product/models/models.ts';

const models = onlyOfferedModels(readModels(), (provider) => provider === 'sandbox');

type Written = [string, GivenParameters?];

function compiled(steps: readonly Written[]): CompiledSegment[] {
  return compileSteps(sentSteps(steps.map(([op, parameters = {}]) => ({ op, parameters }))), models);
}

const found = (steps: readonly Written[]) =>
  stepWarningsOf(compiled(steps)).map(({ code, steps }) => `${code} ${steps}`);

const TABLE: Record<
  (typeof STEP_WARNING_CODES)[number],
  { said: [Written[], string][]; silent: Written[][] }
> = {
  format_shadowed: {
    said: [
      [
        [
          ['grayscale', { format: 'webp' }],
          ['negate', { format: 'png' }],
        ],
        'format_shadowed 0,1',
      ],
      [[['convert', { format: 'webp' }], ['negate'], ['convert', { format: 'webp' }]], 'format_shadowed 0,2'],
    ],
    silent: [
      [['grayscale'], ['convert', { format: 'png' }]],
      [['grayscale', { format: 'webp' }], ['upscale'], ['negate', { format: 'png' }]],
    ],
  },
  resize_shadowed: {
    said: [
      [
        [
          ['resize', { width: 400 }],
          ['resize', { width: 200 }],
        ],
        'resize_shadowed 0,1',
      ],
      [[['resize', { width: 400 }], ['blur'], ['thumbnail']], 'resize_shadowed 0,2'],
    ],
    silent: [
      [['resize', { width: 400 }]],
      [
        ['resize', { width: 400 }],
        ['crop', { width: 9, height: 9 }],
        ['resize', { width: 200 }],
      ],
      [
        ['resize', { width: 400, height: 300, fit: 'cover' }],
        ['resize', { width: 200 }],
      ],
      [['resize', { width: 400 }], ['upscale'], ['resize', { width: 200 }]],
    ],
  },
  metadata_dropped: {
    said: [
      [[['grayscale', { metadata: 'keep', format: 'gif' }]], 'metadata_dropped 0'],
      [
        [
          ['grayscale', { metadata: 'keep' }],
          ['convert', { format: 'gif' }],
        ],
        'metadata_dropped 0,1',
      ],
    ],
    silent: [
      [['grayscale', { metadata: 'strip', format: 'gif' }]],
      [['grayscale', { metadata: 'copyright', format: 'gif' }]],
      [['grayscale', { metadata: 'keep', format: 'webp' }]],
      [['grayscale', { metadata: 'keep' }]],
    ],
  },
  alpha_lost: {
    said: [
      [
        [
          ['round_corners', { radius: '50%' }],
          ['convert', { format: 'jpeg' }],
        ],
        'alpha_lost 0,1',
      ],
      [[['alpha', { opacity: 0.5, format: 'jpeg' }]], 'alpha_lost 0'],
      [[['rotate', { angle: 45, background: '#ff000080', format: 'jpeg' }]], 'alpha_lost 0'],
      [[['flatten'], ['border', { width: 4, radius: 9, format: 'jpeg' }]], 'alpha_lost 1'],
      [[['rotate', { angle: 45, format: 'jpeg' }]], 'alpha_lost 0'],
      [
        [
          ['border', { width: 4, color: 'transparent' }],
          ['convert', { format: 'jpeg' }],
        ],
        'alpha_lost 0,1',
      ],
      [
        [
          ['pad', { all: 4 }],
          ['convert', { format: 'jpeg' }],
        ],
        'alpha_lost 0,1',
      ],
      [[['remove_background'], ['convert', { format: 'jpeg' }]], 'alpha_lost 0,1'],
    ],
    silent: [
      [['round_corners', { radius: 9 }], ['flatten'], ['convert', { format: 'jpeg' }]],
      [
        ['round_corners', { radius: 9 }],
        ['convert', { format: 'jpeg', background: 'white' }],
      ],
      [
        ['round_corners', { radius: 9 }],
        ['convert', { format: 'webp' }],
      ],
      [['rotate', { angle: 90, background: 'transparent', format: 'jpeg' }]],
      [['rotate', { angle: 45, background: '#ff0000ff', format: 'jpeg' }]],
      [['border', { width: 4, color: 'red', format: 'jpeg' }]],
      [['border', { width: 0, color: 'transparent', format: 'jpeg' }]],
      [['pad', { all: 4, mode: 'mirror', format: 'jpeg' }]],
      [['remove_background'], ['flatten'], ['convert', { format: 'jpeg' }]],
      [['remove_background'], ['convert', { format: 'jpeg', background: 'white' }]],
      [['upscale'], ['convert', { format: 'jpeg' }]],
    ],
  },
  border_cut: {
    said: [
      [
        [
          ['border', { width: 8 }],
          ['round_corners', { radius: '50%' }],
        ],
        'border_cut 0,1',
      ],
      [[['border', { width: 8 }], ['blur'], ['round_corners', { radius: 9 }]], 'border_cut 0,2'],
    ],
    silent: [
      [['border', { width: 8, radius: 9 }]],
      [
        ['round_corners', { radius: 9 }],
        ['border', { width: 8 }],
      ],
      [
        ['border', { width: 8 }],
        ['crop', { width: 9, height: 9 }],
        ['round_corners', { radius: 9 }],
      ],
    ],
  },
  enlarge_ignored: {
    said: [
      [
        [
          ['resize', { width: 100 }],
          ['resize', { width: 400 }],
        ],
        'enlarge_ignored 1,0',
      ],
      [
        [
          ['thumbnail', { size: 64 }],
          ['resize', { width: 80, height: 90 }],
        ],
        'enlarge_ignored 1,0',
      ],
      [
        [
          ['crop', { width: 10, height: 10 }],
          ['resize', { width: 500 }],
        ],
        'enlarge_ignored 1,0',
      ],
      [
        [
          ['crop', { width: 10, height: 10 }],
          ['flip', { axis: 'both' }],
          ['resize', { width: 500 }],
        ],
        'enlarge_ignored 2,0',
      ],
    ],
    silent: [
      [
        ['resize', { width: 100 }],
        ['resize', { width: 400, enlarge: true }],
      ],
      [
        ['resize', { width: 100 }],
        ['resize', { height: 400 }],
      ],
      [
        ['resize', { width: 100 }],
        ['pad', { all: 500 }],
        ['resize', { width: 400 }],
      ],
      [
        ['crop', { width: 10, height: 10 }],
        ['resize', { width: 5 }],
      ],
      [
        ['crop', { width: 10, height: 10 }],
        ['resize', { width: 500, enlarge: true }],
      ],
      [
        ['crop', { aspect: '1:1' }],
        ['resize', { width: 500 }],
      ],
      [
        ['resize', { width: 400 }],
        ['resize', { width: 100 }],
      ],
    ],
  },
  no_effect: {
    said: [
      [[['rotate', { angle: 360 }]], 'no_effect 0'],
      [[['negate'], ['adjust', { brightness: 1, hue: 0, contrast: 1, gamma: 1 }]], 'no_effect 1'],
      [[['adjust']], 'no_effect 0'],
      [[['pad', { all: 0 }]], 'no_effect 0'],
      [[['border', { width: 0 }]], 'no_effect 0'],
      [[['round_corners', { radius: '0%' }]], 'no_effect 0'],
      [[['alpha', { opacity: 1 }]], 'no_effect 0'],
      [[['text', { text: 'x', opacity: 0 }]], 'no_effect 0'],
      [[['convert', { format: 'webp', chroma: '4:4:4' }]], 'no_effect 0'],
      [
        [
          ['blur', { quality: 80 }],
          ['convert', { format: 'gif' }],
        ],
        'no_effect 0',
      ],
      [[['convert', { format: 'tiff', effort: 3 }]], 'no_effect 0'],
      [[['convert', { format: 'webp', lossless: true, quality: 20 }]], 'no_effect 0'],
      [
        [
          ['compress', { format: ['webp', 'avif'], minSsim: 0.9 }],
          ['resize', { width: 9, format: 'png', quality: 3 }],
        ],
        'no_effect 1',
      ],
    ],
    silent: [
      [['rotate', { angle: 0, format: 'webp' }]],
      [['adjust', { brightness: 1, contrast: 1.1 }]],
      [['rotate', { angle: 359 }]],
      [['border', { width: 0, radius: 5 }]],
      [['convert', { format: 'avif', chroma: '4:4:4', quality: 80, effort: 2 }]],
      [['convert', { format: 'png', colors: 16, quality: 80 }]],
      [['resize', { width: 9, quality: 80 }]],
      [
        ['blur', { quality: 80, format: 'png' }],
        ['convert', { format: 'jpeg' }],
      ],
      [['extract_frame']],
      [['compare', { otherAssetId: 'ast_2' }]],
      [['remove_background']],
    ],
  },
  unknown_parameter: {
    said: [
      [[['upscale', { factor: 4 }]], 'unknown_parameter 0'],
      [[['negate'], ['expand', { padding: 9, top: 9 }]], 'unknown_parameter 1'],
    ],
    silent: [[['upscale', { scale: 4 }]], [['remove_background', {}]], [['analyze']]],
  },
};

for (const code of STEP_WARNING_CODES) {
  t.test(code, (t) => {
    for (const [steps, warning] of TABLE[code].said)
      t.ok(found(steps).includes(warning), JSON.stringify(steps));
    for (const steps of TABLE[code].silent) {
      t.notOk(
        found(steps).some((warning) => warning.startsWith(code)),
        JSON.stringify(steps),
      );
    }
    t.end();
  });
}

t.test('a warning names its steps by their place in the whole list, in one sentence', (t) => {
  const steps: Written[] = [
    ['upscale'],
    ['sepia', { format: 'png' }],
    ['convert', { format: 'webp' }],
    ['adjust'],
  ];
  t.match(stepWarningsOf(compiled(steps)), [
    { code: 'format_shadowed', steps: [1, 2], message: /^Step 1 sets the format png, but step 2 .*\.$/ },
    { code: 'no_effect', steps: [3], message: /^Step 3 changes nothing/ },
  ]);
  t.strictSame(stepWarningsOf([]), []);
  t.strictSame(found([['resize', { width: 800, format: 'webp' }]]), []);
  t.end();
});
