// needs: nothing
import t from 'tap';
import { ApiError } from '../../../src/platform/http/errors/errors.ts';
import { checkOpParameters } from '../../../src/product/catalogue/checks/check.ts';
import { findOp } from '../../../src/product/catalogue/index.ts';
import type { GivenParameters, PassFragment } from '../../../src/product/catalogue/op.ts';
import { compileSteps } from '../../../src/product/catalogue/plan/compile.ts';
import { type CompiledPass, mergePass } from '../../../src/product/catalogue/plan/pass.ts';
import { sentSteps } from '../../../src/product/catalogue/plan/step.ts';
import { onlyOfferedModels, readModels } from '../../../src/product/models/models.ts';

function compiled(name: string, given: GivenParameters): PassFragment {
  const op = findOp(name);
  if (op?.runs !== 'pass') throw new Error(`${name} does not compile`);
  return op.compile(checkOpParameters(op, given));
}

const models = onlyOfferedModels(readModels(), (provider) => provider === 'sandbox');

/** The pass of these steps, or the refusal of the parameter that conflicts. */
function merged(
  ...steps: [string, GivenParameters][]
): Partial<CompiledPass & Pick<ApiError, 'param' | 'message'>> {
  try {
    const [segment] = compileSteps(sentSteps(steps.map(([op, parameters]) => ({ op, parameters }))), models);
    if (segment?.runs !== 'pass') throw new Error('These steps are no pass.');
    return segment;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

t.test(
  'an op compiles to registry steps, with its defaults filled in and the shared parameters apart',
  (t) => {
    const background = '#fff';
    const table: [string, GivenParameters, Partial<PassFragment>][] = [
      [
        'resize',
        { width: 100, dpr: 2 },
        { steps: [{ operation: 'resize', params: { width: 200, fit: 'inside', enlarge: false } }] },
      ],
      [
        'crop',
        { width: 5, height: 6 },
        { steps: [{ operation: 'extract', params: { width: 5, height: 6 } }] },
      ],
      [
        'crop',
        { aspect: '1:2', focalX: 0 },
        { steps: [{ operation: 'crop', params: { aspect: '1:2', focalX: 0 } }] },
      ],
      ['flip', { axis: 'horizontal' }, { steps: [{ operation: 'flop', params: {} }] }],
      ['flip', { axis: 'vertical' }, { steps: [{ operation: 'flip', params: {} }] }],
      [
        'pad',
        { all: 4, background },
        {
          steps: [
            {
              operation: 'extend',
              params: { top: 4, right: 4, bottom: 4, left: 4, extendWith: 'background', background },
            },
          ],
          encode: { background },
        },
      ],
      [
        'convert',
        { format: 'png', palette: true, colors: 8 },
        { steps: [], encode: { format: 'png', palette: true, colors: 8 } },
      ],
      ['compress', { maxBytes: 9000 }, { steps: [], encode: { target: { maxBytes: 9000 } } }],
      [
        'compress',
        { minSsim: 0.9, format: 'webp' },
        { encode: { format: 'webp', target: { minSsim: 0.9 } } },
      ],
      [
        'compress',
        { ssimulacra2: 80, format: 'jpeg' },
        { encode: { format: 'jpeg', target: { ssimulacra2: 80 } } },
      ],
      ['extract_frame', { frame: 3 }, { decode: { frame: 3 }, steps: [] }],
      [
        'rotate',
        { angle: 90, frame: 'all', density: 300, metadata: 'keep', quality: 5, effort: 0, lossless: false },
        {
          decode: { frame: 'all', density: 300 },
          encode: { metadata: 'keep', quality: 5, effort: 0, lossless: false },
        },
      ],
      ['adjust', {}, { steps: [] }],
      [
        'adjust',
        { hue: 90, contrast: 1.5, gamma: 2 },
        {
          steps: [
            { operation: 'modulate', params: { hue: 90 } },
            { operation: 'linear', params: { a: 1.5, b: -64 } },
            { operation: 'gamma', params: { gamma: 2 } },
          ],
        },
      ],
      ['compare', { otherAssetId: 'ast_2' }, { compareWith: 'ast_2', steps: [] }],
    ];
    for (const [name, given, fragment] of table)
      t.match(compiled(name, given), fragment, `${name} ${JSON.stringify(given)}`);
    t.strictSame(Object.keys(compiled('resize', { width: 5 }).steps[0]?.params ?? {}).sort(), [
      'enlarge',
      'fit',
      'width',
    ]);
    t.end();
  },
);

t.test('adjacent steps become one pass, in order', (t) => {
  const { pass, compareWith } = merged(
    ['resize', { width: 100, quality: 60 }],
    ['grayscale', { frame: 0 }],
    ['convert', { format: 'webp', metadata: 'keep' }],
  );
  t.strictSame(
    pass?.steps.map(({ operation }) => operation),
    ['resize', 'greyscale'],
  );
  t.strictSame(pass?.decode, { frame: 0 });
  t.strictSame(pass?.encode, { quality: 60, format: 'webp', metadata: 'keep' });
  t.equal(compareWith, undefined);
  t.match(merged(['resize', { width: 5 }], ['compare', { otherAssetId: 'ast_2' }]), { compareWith: 'ast_2' });
  const nothing = { decode: {}, steps: [], encode: {} };
  t.strictSame(mergePass([]), { runs: 'pass', steps: [], pass: nothing, layers: [] });
  t.end();
});

t.test(
  'a later step has the last word on the format, and settings meant for another format go with it',
  (t) => {
    const first: GivenParameters = {
      format: 'webp',
      quality: 50,
      lossless: true,
      metadata: 'keep',
      background: 'red',
    };
    t.strictSame(merged(['grayscale', first], ['negate', { format: 'jpeg' }]).pass?.encode, {
      format: 'jpeg',
      metadata: 'keep',
      background: 'red',
    });
    t.strictSame(
      merged(['compress', { maxBytes: 900, format: 'webp' }], ['convert', { format: 'jpeg' }]).pass?.encode,
      { format: 'jpeg', target: { maxBytes: 900 } },
      'the size that a result may have is a limit in any format',
    );
    t.match(merged(['grayscale', first], ['negate', { format: 'webp', quality: 7 }]).pass?.encode, {
      lossless: true,
      quality: 7,
    });
    t.end();
  },
);

t.test('frame, metadata and density can be said in one way only; the later step is named', (t) => {
  const table: [[string, GivenParameters][], string | undefined][] = [
    [
      [
        ['grayscale', { frame: 'first' }],
        ['negate', {}],
        ['sepia', { frame: 'all' }],
      ],
      'steps[2].parameters.frame',
    ],
    [
      [
        ['grayscale', { frame: 0 }],
        ['extract_frame', { frame: 1 }],
      ],
      'steps[1].parameters.frame',
    ],
    [
      [
        ['grayscale', { frame: 2 }],
        ['negate', { frame: 2 }],
      ],
      undefined,
    ],
    [
      [
        ['grayscale', { density: 72 }],
        ['negate', { density: 300 }],
      ],
      'steps[1].parameters.density',
    ],
    [
      [
        ['grayscale', { density: 72 }],
        ['negate', { density: 72 }],
      ],
      undefined,
    ],
    [
      [
        ['grayscale', { metadata: 'keep' }],
        ['negate', { metadata: 'strip' }],
      ],
      'steps[1].parameters.metadata',
    ],
    [
      [
        ['grayscale', { metadata: 'keep' }],
        ['negate', { metadata: 'keep' }],
      ],
      undefined,
    ],
  ];
  for (const [steps, param] of table)
    t.match(merged(...steps), param === undefined ? { pass: {} } : { param });
  t.end();
});

t.test('every frame cannot go into a format that holds one picture', (t) => {
  t.match(merged(['grayscale', { frame: 'all' }], ['convert', { format: 'jpeg' }]), {
    param: 'steps[0].parameters.frame',
  });
  t.match(merged(['convert', { format: 'jpeg' }], ['negate', { frame: 'all' }]), {
    param: 'steps[1].parameters.frame',
  });
  t.match(merged(['negate', { frame: 'all' }], ['convert', { format: 'gif' }]), { pass: {} });
  t.match(merged(['negate', { frame: 'all' }]), { pass: {} });
  t.match(
    merged(['negate', { frame: 'all' }], ['sepia', { format: 'png' }], ['convert', { format: 'webp' }]),
    { pass: {} },
  );
  t.end();
});

t.test('all frames are refused where a step makes one picture', (t) => {
  t.match(merged(['placeholder', { frame: 'all' }]), {
    param: 'steps[0].parameters.frame',
    message: /placeholder makes one picture/,
  });
  t.match(merged(['negate', { frame: 'all' }], ['placeholder', {}]), {
    param: 'steps[0].parameters.frame',
  });
  t.match(merged(['placeholder', { frame: 'first' }]), { pass: {} });
  t.end();
});

t.test('a frame is one frame, by whichever of its names', (t) => {
  t.match(merged(['negate', { frame: 'first' }], ['sepia', { frame: 0 }]), {
    pass: { decode: { frame: 0 } },
  });
  t.match(merged(['negate', { frame: 'first' }], ['sepia', { frame: 1 }]), {
    param: 'steps[1].parameters.frame',
  });
  t.end();
});

t.test('the format that counts for frames is the one that is written', (t) => {
  t.match(merged(['negate', { frame: 'all', format: 'png' }], ['convert', { format: 'gif' }]), { pass: {} });
  t.match(merged(['rotate', { angle: 90, frame: 'all', format: 'png' }]), {
    param: 'steps[0].parameters.frame',
  });
  t.end();
});

t.test('a pass that ends as jpeg cannot be lossless, unless that was meant for another format', (t) => {
  for (const format of ['gif', 'tiff'])
    t.match(merged(['sepia', { lossless: true }], ['convert', { format }]), {
      param: 'steps[0].parameters.lossless',
      message: new RegExp(`but ${format} has no lossless mode`),
    });
  t.match(merged(['sepia', { lossless: true }], ['convert', { format: 'png', colors: 16 }]), {
    param: 'steps[0].parameters.lossless',
  });
  t.match(merged(['sepia', { lossless: true }], ['convert', { format: 'png' }]), { pass: {} });
  t.match(merged(['sepia', { lossless: true }], ['negate', {}], ['convert', { format: 'jpeg' }]), {
    param: 'steps[0].parameters.lossless',
  });
  t.match(merged(['convert', { format: 'jpeg' }], ['sepia', { lossless: true }]), {
    param: 'steps[1].parameters.lossless',
  });
  t.match(merged(['sepia', { lossless: true, format: 'webp' }], ['convert', { format: 'jpeg' }]), {
    pass: {},
  });
  t.match(merged(['sepia', { lossless: true }], ['convert', { format: 'avif' }]), { pass: {} });
  t.end();
});

t.test('a conflict is said with the values, and with what to send instead', (t) => {
  const table: [[string, GivenParameters][], string, string][] = [
    [
      [
        ['grayscale', { density: 72 }],
        ['negate', { density: 300 }],
      ],
      'steps[1].parameters.density',
      'density is 300, but an earlier step of the same pass says 72: the pass has one density, give one value.',
    ],
    [
      [
        ['grayscale', { frame: 1 }],
        ['negate', { everyNth: 2 }],
      ],
      'steps[1].parameters.everyNth',
      'frame is 1, and everyNth stands in place of it: send one of them.',
    ],
    [
      [['negate', { frames: '9..3' }]],
      'steps[0].parameters.frames',
      'frames is 9..3, but a range begins with its first frame: send 3..9.',
    ],
    [
      [
        ['negate', { frames: '3..9' }],
        ['convert', { format: 'jpeg' }],
      ],
      'steps[0].parameters.frames',
      'frames is 3..9, but the pass writes jpeg, which holds one picture: write gif or webp, or take one frame.',
    ],
    [
      [
        ['negate', { maxFps: 5 }],
        ['placeholder', { format: 'webp' }],
      ],
      'steps[0].parameters.maxFps',
      'maxFps is 5, but placeholder makes one picture of the first frame: leave it out, or take one frame.',
    ],
    [
      [
        ['sepia', { lossless: true }],
        ['convert', { format: 'jpeg' }],
      ],
      'steps[0].parameters.lossless',
      'lossless is true, but jpeg has no lossless mode: have the pass write webp, avif or png.',
    ],
  ];
  for (const [steps, param, message] of table) t.match(merged(...steps), { param, message });
  t.match(merged(['negate', { maxFrames: 1 }], ['convert', { format: 'jpeg' }]), { pass: {} }, 'one frame');
  t.match(merged(['negate', { frames: '4..4' }], ['placeholder', {}]), { pass: {} }, 'a range of one frame');
  t.end();
});

t.test('an AI step cuts the list, adjacent deterministic steps stay together', (t) => {
  const cut = (letters: string) =>
    compileSteps(
      sentSteps([...letters].map((letter) => ({ op: letter === 'a' ? 'upscale' : 'negate' }))),
      models,
    ).map((segment) => (segment.runs === 'model' ? 'a' : 'd'.repeat(segment.steps.length)));
  t.strictSame(cut(''), []);
  t.strictSame(cut('ddd'), ['ddd']);
  t.strictSame(cut('ddaad'), ['dd', 'a', 'a', 'd']);
  t.strictSame(cut('a'), ['a']);
  t.end();
});
