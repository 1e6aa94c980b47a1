// needs: server
import t from 'tap';
import { STEP_WARNING_CODES } from '../../../src/product/catalogue/checks/warnings.ts';
import { BUILT_IN_PRESETS } from '../../../src/product/presets/builtins.ts';
import { preset, start } from './harness.ts';

const FINDINGS: Record<(typeof STEP_WARNING_CODES)[number], { steps: unknown[]; indexes: number[] }> = {
  format_shadowed: {
    steps: [
      { op: 'sepia', parameters: { format: 'png' } },
      { operation: 'blur', params: { sigma: 1 } },
      { operation: 'webp' },
    ],
    indexes: [0, 2],
  },
  resize_shadowed: {
    steps: [
      { op: 'upscale' },
      { op: 'resize', parameters: { width: 400 } },
      { operation: 'resize', params: { width: 200 } },
    ],
    indexes: [1, 2],
  },
  metadata_dropped: {
    steps: [{ operation: 'keepMetadata' }, { op: 'convert', parameters: { format: 'gif' } }],
    indexes: [0, 1],
  },
  alpha_lost: {
    steps: [
      { op: 'round_corners', parameters: { radius: '50%' } },
      { op: 'convert', parameters: { format: 'jpeg' } },
    ],
    indexes: [0, 1],
  },
  border_cut: {
    steps: [
      { op: 'border', parameters: { width: 4 } },
      { op: 'round_corners', parameters: { radius: 9 } },
    ],
    indexes: [0, 1],
  },
  enlarge_ignored: {
    steps: [
      { op: 'thumbnail', parameters: { size: 64 } },
      { op: 'resize', parameters: { width: 400 } },
    ],
    indexes: [1, 0],
  },
  no_effect: { steps: [{ op: 'negate' }, { op: 'rotate', parameters: { angle: 0 } }], indexes: [1] },
  unknown_parameter: {
    steps: [{ op: 'negate' }, { op: 'upscale', parameters: { factor: 4 } }],
    indexes: [1],
  },
};

t.test('a cutout that is written as a JPEG loses what was cut', async (t) => {
  const { call } = await start();
  const steps = [{ op: 'remove_background' }, { op: 'convert', parameters: { format: 'jpeg' } }];
  const { warnings } = (await call('POST', '/presets', { ...preset, steps })).json.data;
  t.match(warnings, [{ code: 'alpha_lost', steps: [0, 1] }]);
});

t.test('each finding is answered on create, on PUT and on import, the redundant step first', async (t) => {
  const { call } = await start();
  for (const code of STEP_WARNING_CODES) {
    const { steps, indexes } = FINDINGS[code];
    const sent = { ...preset, name: code, steps };
    const answers = [
      (await call('POST', '/presets', { ...sent, slug: code.replace('_', '-') })).json.data,
      (await call('PUT', `/presets/${code.replace('_', '-')}`, { name: 'Again' })).json.data,
      (await call('POST', '/presets/import', [sent])).json.data.data[0],
    ];
    for (const { warnings } of answers) {
      t.match(warnings, [{ code, steps: indexes }], code);
      for (const index of indexes) t.match(warnings[0].message.toLowerCase(), `step ${index}`);
      t.equal(warnings.length, 1);
    }
  }
});

t.test('clean presets, and every built-in saved as one, have no finding', async (t) => {
  const { call } = await start();
  for (const { steps } of [preset, ...BUILT_IN_PRESETS]) {
    t.same((await call('POST', '/presets', { ...preset, steps })).json.data.warnings, []);
  }
});
