import { contract } from '../../../../workers/image/operations/parameter.ts';
import { invalidParam } from '../../../platform/http/errors/errors.ts';
import { present } from '../../../platform/values/present.ts';
import { chosenModel } from '../../models/choice.ts';
import type { Models } from '../../models/models.ts';
import { checkParameters } from '../checks/check.ts';
import { firstViolation } from '../checks/contract.ts';
import { warningsOf } from '../checks/warnings.ts';
import { findOp, OPS } from '../index.ts';
import { type AiOp, isPixelOp, type Op, type PixelOp, type RenderOp, type SyncOp } from '../op.ts';
import { checkAiStep, type SentSchema, schemasOf } from './ai-step.ts';
import type { CheckedVariant, CheckedWork, JobWork } from './checked-job.ts';
import type { CompiledStep } from './compiled-step.ts';
import { refuseFields, withLiftedFields } from './fields.ts';
import { assetsOfStep, type NamedAsset } from './named-assets.ts';
import { lonePixelStep } from './pixel-step.ts';
import { checkMentions } from './subjects.ts';
import { type MergedVariant, mergedVariants, plannedVariant } from './variants.ts';

type JobOp = Exclude<Op, SyncOp>;

/** The op of each raw type. */
const OP_OF_TYPE: Record<string, JobOp> = {
  render: OPS.render_template,
  'ai-generate': OPS.generate,
  'ai-edit': OPS.edit,
  parse: OPS.analyze,
};

/** The contract of a render, made once, because the validator of a contract is kept. */
const RENDER_FIELDS = contract(OPS.render_template.fields);

/**
 * The op that a job names directly or by its raw type.
 * @throws ApiError invalid_param on op when none is named or it cannot be a job; on steps for a type that needs steps.
 */
function jobOp({ op: name, type }: JobWork): JobOp {
  if (name !== undefined) return opNamed(name);
  if (type === undefined) {
    throw invalidParam('op', 'op is missing: send an op, a presetId, steps, or a type.', { missing: ['op'] });
  }
  const op = OP_OF_TYPE[type];
  if (op !== undefined) return op;
  throw invalidParam('steps', `steps are missing: a job of type ${type} is made of steps.`, {
    missing: ['steps'],
  });
}

/** The body of a job after `withLiftedFields`. A job of steps or of a preset is returned unchanged. */
export function jobWithLiftedFields<T extends JobWork>(body: T): T {
  if (body.steps !== undefined || body.presetId !== undefined) return body;
  const op = body.op === undefined ? OP_OF_TYPE[body.type ?? ''] : findOp(body.op);
  return op?.runs === 'model' ? withLiftedFields(op, body, 'parameters.') : body;
}

function opNamed(name: string): JobOp {
  const op = findOp(name);
  if (op !== undefined && op.runs !== 'answer') return op;
  const jobOps = Object.values<Op>(OPS).filter(({ runs }) => runs !== 'answer');
  const allowed = jobOps.map((candidate) => candidate.op);
  const problem =
    op === undefined
      ? `There is no op ${JSON.stringify(name)}`
      : `${name} is not a job: POST ${op.endpoint} answers it`;
  throw invalidParam('op', `${problem}; the ops that run as jobs are ${allowed.join(', ')}.`, {
    received: name,
    allowed,
  });
}

/**
 * Checks the body of a job that runs one op, named or of a raw type, against its contract, for each variant.
 * @throws ApiError invalid_param on the field at fault, in a variant as `variants[i].parameters.<name>`.
 */
export function checkOpJob(body: JobWork, models: Models): CheckedWork {
  const op = jobOp(body);
  const named = body.op === undefined ? {} : { op: op.op };
  if (op.runs === 'render') return { ...named, ...renderJob(body, op) };
  refuseFields(body, ['templateId', 'items'], `${op.op} draws no template`);
  if (isPixelOp(op)) refuseFields(body, ['model', 'prompt'], `${op.op} is deterministic and runs no model`);
  const checked = mergedVariants(body).map((variant) =>
    isPixelOp(op) ? pixelVariant(op, variant) : modelVariant(op, body, variant, models),
  );
  return {
    ...named,
    type: op.jobType,
    takes: op.requiresAssets ? 'assets' : 'nothing',
    variants: checked.map(({ variant }) => variant),
    subjects: [],
    named: checked.flatMap(({ assets }) => assets),
    schemas: checked.flatMap(({ schemas }) => schemas),
    warnings: checked.flatMap(({ step }) => warningsOf([step])),
    produces: op.produces,
  };
}

interface CheckedOp {
  variant: CheckedVariant;
  step: CompiledStep;
  assets: NamedAsset[];
  schemas: SentSchema[];
}

function pixelVariant(op: PixelOp, { parameters: sent, name, prefixOf }: MergedVariant): CheckedOp {
  const { step, parameters } = lonePixelStep(op, sent, prefixOf);
  const assets = assetsOfStep(step, (key) => `${prefixOf(key)}${key}`);
  return { variant: plannedVariant({ name, parameters }, [step]), step, assets, schemas: [] };
}

function modelVariant(
  op: AiOp,
  { prompt, model: named }: JobWork,
  { parameters, name, prefixOf }: MergedVariant,
  models: Models,
): CheckedOp {
  const model = chosenModel(models, named, op.op, 'model');
  const sent = { parameters, ...present({ prompt }) };
  const step = checkAiStep(op, model, sent, { index: 0, at: '', parameters: prefixOf });
  checkMentions(step.prompt, [], 'prompt');
  const schemas = schemasOf(step.parameters, `${prefixOf('schema')}schema`);
  return { variant: plannedVariant({ name, parameters }, [step]), step, assets: [], schemas };
}

/** A render job has rows instead of assets and variants. */
function renderJob(body: JobWork, op: RenderOp): Omit<CheckedWork, 'op'> {
  refuseFields(body, ['model', 'prompt'], 'a render runs no model');
  refuseFields(body, ['variants'], 'a render makes one image of each of its items');
  checkParameters(op, body.parameters, 'parameters.');
  const { templateId, items } = body;
  const violation = firstViolation(RENDER_FIELDS, present({ templateId, items }), op.op);
  if (violation !== undefined) throw invalidParam(violation.key, violation.message, violation.details);
  return {
    type: op.jobType,
    takes: 'rows',
    variants: [{ parameters: {}, segments: [] }],
    ...{ subjects: [], named: [], schemas: [], warnings: [] },
    produces: op.produces,
  };
}
