// needs: nothing
import t from 'tap';
import { ApiError } from '../../../src/platform/http/errors/errors.ts';
import { sentFieldOfCall } from '../../../src/product/catalogue/checks/check.ts';
import {
  compilePass,
  compilePreset,
  compileSteps,
  type SinglePassObstacle,
} from '../../../src/product/catalogue/plan/compile.ts';
import { findSentParameter } from '../../../src/product/catalogue/plan/pass.ts';
import {
  type PresetStep,
  type RequestedStep,
  savedSteps,
  sentSteps,
} from '../../../src/product/catalogue/plan/step.ts';
import { requireJobOp } from '../../../src/product/jobs/submit/work.ts';
import { onlyOfferedModels, readModels } from '../../../src/product/models/models.ts';

const models = onlyOfferedModels(readModels(), (provider) => provider === 'sandbox');
const flip = { op: 'flip' };

/** The refusal of a list that is made and compiled. */
function refusal(list: () => readonly RequestedStep[]): ApiError | undefined {
  try {
    compileSteps(list(), models);
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

t.test('a refusal of a step names its field as each form of work sent it', (t) => {
  const wrong: [PresetStep, string][] = [
    [{ op: 'resize', parameters: { width: 0 } }, 'parameters.width'],
    [{ op: 'resize', parameters: { width: 5 }, model: 'x' }, 'model'],
    [{ op: 'resize', parameters: { width: 5 }, params: {} }, 'params'],
    [{ op: 'sepia', parameters: { frame: 'all', format: 'jpeg' } }, 'parameters.frame'],
    [{ op: 'edit' }, 'prompt'],
    [{ op: 'edit', prompt: ' ' }, 'prompt'],
    [{ op: 'edit', prompt: 'one', parameters: { prompt: 'another' } }, 'parameters.prompt'],
    [{ op: 'analyze', parameters: { schema: { $ref: 'https://a.test/b' } } }, 'parameters.schema'],
    [{ op: 'read_metadata' }, 'op'],
    [{ operation: 'zoom' }, 'operation'],
    [{ operation: 'blur', params: { sigma: 0 } }, 'params'],
  ];
  for (const [step, key] of wrong) {
    const sent = refusal(() => sentSteps([flip, step]));
    t.equal(sent?.param, `steps[1].${key}`, JSON.stringify(step));
    const earlier = refusal(() => sentSteps([flip, step], 'versions[2].steps'));
    t.equal(earlier?.param, `versions[2].steps[1].${key}`);
    const saved = refusal(() => savedSteps([flip, step], 'preset'));
    t.match(saved, { param: 'preset', details: { step: `steps[1].${key}` } });
    t.match(saved?.message, /^The preset has a step that is no longer accepted, save it again: /);
  }
  const alone: RequestedStep = { op: 'resize', parameters: { width: 0 }, findField: sentFieldOfCall };
  t.equal(refusal(() => [alone])?.param, 'width', 'in a query');
  t.equal(refusal(() => sentSteps([{}]))?.param, 'steps[0]');
  t.end();
});

t.test('a refusal of a worker is translated by the same names', (t) => {
  const steps = [
    { op: 'convert', parameters: { format: 'webp', frame: 9 } },
    { op: 'crop', parameters: { x: 5, width: 5, height: 5 } },
    { operation: 'extract', params: { left: 5, width: 5, height: 5 } },
    { operation: 'webp', params: { quality: 50 } },
  ];
  const table: [readonly RequestedStep[], string, string][] = [
    [sentSteps(steps), 'steps[0].params.left', 'steps[1].parameters.x'],
    [sentSteps(steps), 'steps[0].params.top', 'steps[1].parameters.y'],
    [sentSteps(steps), 'steps[1].params.left', 'steps[2].params.left'],
    [sentSteps(steps), 'frame', 'steps[0].parameters.frame'],
    [sentSteps(steps), 'quality', 'steps[3].params.quality'],
    [sentSteps(steps), 'density', 'steps'],
    [sentSteps([flip]), 'density', 'steps[0].parameters.density'],
    [[{ ...flip, findField: sentFieldOfCall }], 'density', 'density'],
    [
      [{ op: 'crop', parameters: { x: 5, width: 5, height: 5 }, findField: sentFieldOfCall }],
      'steps[0].params.left',
      'x',
    ],
    [[{ ...flip, findField: sentFieldOfCall }], 'target', 'op'],
  ];
  for (const [sent, passParam, param] of table) {
    const compiled = compilePass(sent, models, () => new Error('It is one pass.'));
    t.equal(findSentParameter(compiled.steps, passParam), param, `${passParam} of ${sent.length}`);
  }
  t.end();
});

t.test('a list that is more than one pass on one image names the step that makes it so', (t) => {
  const table: [PresetStep[], string, string][] = [
    [[flip, { op: 'upscale' }, flip], 'runs a model', 'steps[1]'],
    [[flip, { op: 'overlay', parameters: { layerAssetId: 'ast_1' } }], 'reads a second asset', 'steps[1]'],
    [[{ operation: 'joinChannel', params: { assetId: 'ast_1' } }], 'reads a second asset', 'steps[0]'],
    [[{ op: 'compare', parameters: { otherAssetId: 'ast_1' } }], 'answers JSON', 'steps[0]'],
  ];
  for (const [steps, does, name] of table) {
    const refusal = ({ does, step }: SinglePassObstacle) => new Error(`${step.findField('').name} ${does}`);
    t.throws(() => compilePass(sentSteps(steps), models, refusal), { message: `${name} ${does}` });
  }
  const overlay = sentSteps([{ op: 'overlay', parameters: { layerAssetId: 'part:logo' } }]);
  const { pass } = compilePass(overlay, models, () => new Error('The call brings it.'), ['part:logo']);
  t.match(pass.steps, [{ operation: 'composite' }]);
  t.end();
});

t.test('a preset that does not run while its caller waits says where it runs', (t) => {
  const steps = [{ op: 'overlay', parameters: { layerAssetId: 'ast_1' } }];
  const says = 'so it runs only as a job: send it to POST /api/v1/jobs';
  const job = { presetId: 'p', assetIds: ['ast_1'] };
  t.throws(() => compilePreset([flip, { op: 'upscale' }], 'preset', models, job), {
    param: 'preset',
    message: `The preset has a step that runs a model, ${says}.`,
    details: { instead: [{ job }] },
  });
  t.throws(() => compilePreset(steps, 'outputs[1].preset', models, job), {
    param: 'outputs[1].preset',
    message: `The preset has a step that reads a second asset, ${says}, or send its steps as steps of this call.`,
    details: { instead: [{ steps }, { job }] },
  });
  t.match(compilePreset([flip], 'preset', models, job).pass, { steps: [{ operation: 'flop' }] });
  t.end();
});

t.test('a name that is no op of a step, or of a job, is told which are', (t) => {
  const table: [string, RegExp, RegExp][] = [
    [
      'resise',
      /^Did you mean resize\? There is no op "resise": use one of resize, crop, .*, analyze\.$/,
      /^Did you mean resize\? There is no op "resise"; the ops that run as jobs are resize, .*, analyze\.$/,
    ],
    [
      'read_metadata',
      /^read_metadata cannot be a step: use one of resize, (?!.*render_template).*, analyze\.$/,
      /^read_metadata is not a job: POST \/images\/metadata answers it; the ops that run as jobs are /,
    ],
    ['constructor', /^There is no op "constructor": use/, /^There is no op "constructor"; the ops/],
  ];
  for (const [op, asStep, asJob] of table) {
    t.match(
      refusal(() => sentSteps([{ op }])),
      { param: 'steps[0].op', message: asStep, details: { received: op } },
    );
    t.throws(() => requireJobOp({ op }), { param: 'op', message: asJob, details: { received: op } }, op);
  }
  t.match(refusal(() => sentSteps([{ op: 'resise' }]))?.corrections, [
    { param: 'steps[0].op', replace: 'resize' },
  ]);
  t.end();
});
