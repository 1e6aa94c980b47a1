import { Type } from '@sinclair/typebox';
import type { BranchPass } from '../../../imaging/images/image-call.ts';
import { exclusiveFieldError, invalidParamError, sentFieldAt } from '../../../platform/http/errors/errors.ts';
import { mismatchedValueDiagnosis, unknownWordError } from '../../../platform/http/errors/violations.ts';
import { distinctValues, isJsonObject } from '../../../platform/values/json.ts';
import { withoutAbsentFields } from '../../../platform/values/present.ts';
import {
  checkOpParameters,
  findFirstViolation,
  parameterError,
  sentFieldOfCall,
} from '../../catalogue/checks/check.ts';
import { callWarningsOf, type StepWarning, stepWarningsOf } from '../../catalogue/checks/warnings.ts';
import { findOp, OPS } from '../../catalogue/index.ts';
import type { Op, RenderOp, SyncOp } from '../../catalogue/op.ts';
import { type CompiledSegment, findSentParameter } from '../../catalogue/plan/pass.ts';
import {
  checkJsonSize,
  checkStepSizes,
  refuseFields,
  sentSteps,
  withLiftedFields,
} from '../../catalogue/plan/step.ts';
import {
  checkSteps,
  type NamedAsset,
  type RequestedAnswerSchema,
  sentAnswerSchemasOf,
} from '../../catalogue/plan/subjects.ts';
import { requireOp } from '../../catalogue/usual-words.ts';
import type { ModelsFile } from '../../models/models.ts';
import type { PresetContent } from '../../presets/preset.ts';
import type { ItemInputKind, JobDefinition, PricedVariant } from '../definitions.ts';
import { JOB_TYPES, type JobType } from '../job.ts';
import { type PlanSegment, planOf, segmentCreditsPerItem } from '../plan.ts';
import type { JobRequest } from '../schema.ts';
import { OVERRIDE_FIELDS, type RequestedVariant, variantsOfOp, variantsOfPreset } from './variants.ts';

/** The work of a job after all checks that need no store. Nothing is stored, held or charged yet. */
export interface CheckedWork extends Pick<JobDefinition, 'takes' | 'produces' | 'variants' | 'subjects'> {
  type: JobType;
  /** Present only when the job was submitted as an op. */
  op?: Op['op'];
  /** The assets besides those of the items. The caller must check whether they exist. */
  named: NamedAsset[];
  /** The answer schemas that were sent. The caller must compile them. */
  schemas: RequestedAnswerSchema[];
  warnings: StepWarning[];
  /**
   * For each variant, the pass that runs over the picture of an item first. Variants that begin with a model have none.
   */
  firstPasses: BranchPass[];
}

/**
 * Checks the work of a job against the catalogue: op, type, steps, model, prompt, parameters, variants and subjects.
 * `checkJobFields` must have accepted the job before.
 * @param preset the version that presetId names.
 * @throws ApiError invalid_param on the field at fault.
 */
export function checkWork(body: JobRequest, models: ModelsFile, preset?: PresetContent): CheckedWork {
  const work = checkSentWork(body, models, preset);
  refuseOtherType(body, work);
  return work;
}

/** Checks the steps, the preset or the op of a job, whichever was sent. */
function checkSentWork(body: JobRequest, models: ModelsFile, preset?: PresetContent): CheckedWork {
  const { steps, subjects } = body;
  if (steps !== undefined) {
    const only = { parameters: {}, findField: sentFieldAt, steps: sentSteps(steps) };
    return checkVariants([only], subjects ?? [], models);
  }
  if (preset !== undefined) {
    const variants = variantsOfPreset(body, preset.steps);
    const work = checkVariants(variants, preset.subjects, models);
    const named = work.named.map((asset) => ({ ...asset, param: 'presetId' }));
    // The answer schemas of the preset itself were compiled when it was saved, so only those of overrides are left.
    return { ...work, named, schemas: variants.flatMap(sentAnswerSchemasOf) };
  }
  if (subjects !== undefined) {
    const message = 'subjects come with steps: leave them out, or send the op as a step.';
    throw invalidParamError('subjects', message);
  }
  const op = requireJobOp(body);
  const named = body.op === undefined ? {} : { op: op.op };
  if (op.runs === 'render') return { ...named, ...renderWork(body, op) };
  refuseFields(body, ['templateId', 'items'], `${op.op} draws no template`);
  return { ...named, ...checkVariants(variantsOfOp(body, op), [], models) };
}

/**
 * Checks each variant. What all variants share is taken from the first one. An asset that several variants use is
 * returned only once.
 */
function checkVariants(
  sent: readonly RequestedVariant[],
  sentSubjects: readonly unknown[],
  models: ModelsFile,
): CheckedWork {
  const lists = sent.map(({ name, parameters, steps }) => {
    const { segments, ...checked } = checkSteps(steps, sentSubjects, models);
    const warnings = stepWarningsOf(segments);
    const told = callWarningsOf(warnings);
    const variant: PricedVariant = {
      ...{ ...withoutAbsentFields({ name }), parameters, segments: planOf(segments) },
      ...(told.length > 0 && { warnings: told }),
      credits: segments.map((segment) => segmentCreditsPerItem(models, segment)),
    };
    return { ...checked, variant, warnings, firstPass: firstPassOf(segments) };
  });
  const firstPasses = lists.flatMap(({ firstPass }) => firstPass ?? []);
  const [first] = lists;
  const segments = first?.variant.segments ?? [];
  return {
    type: jobTypeOf(segments),
    takes: inputKindOf(segments),
    variants: lists.map(({ variant }) => variant),
    subjects: first?.subjects ?? [],
    named: distinctValues(lists.flatMap(({ namedAssets }) => namedAssets)),
    schemas: lists.flatMap(({ schemas }) => schemas),
    warnings: distinctValues(lists.flatMap(({ warnings }) => warnings)),
    produces: segments.at(-1)?.produces ?? 'image',
    firstPasses: firstPasses.length === lists.length ? firstPasses : [],
  };
}

/** The first segment of a list, if it is a pass that writes a picture; otherwise undefined. */
function firstPassOf([first]: readonly CompiledSegment[]): BranchPass | undefined {
  if (first?.runs !== 'pass' || first.compareWith !== undefined || first.reads !== undefined)
    return undefined;
  const { pass, steps } = first;
  return { pass, paramOf: (passParam) => findSentParameter(steps, passParam) };
}

function jobTypeOf([first, ...others]: readonly PlanSegment[]): JobType {
  if (first === undefined || others.length > 0) return 'chain';
  return first.runs === 'pass' ? 'process' : first.jobType;
}

function inputKindOf([first]: readonly PlanSegment[]): ItemInputKind {
  return first?.runs === 'model' && first.op === 'generate' ? 'nothing' : 'assets';
}

/** The schema of a render's fields. It is a constant, because its compiled validator is cached by schema object. */
const RENDER_FIELDS_SCHEMA = Type.Object(OPS.render_template.fields, { additionalProperties: false });

/** Checks a render job, which has rows instead of assets and variants. */
function renderWork(body: JobRequest, op: RenderOp): CheckedWork {
  refuseFields(body, ['model', 'prompt'], 'a render runs no model');
  refuseFields(body, ['variants'], 'a render makes one image of each of its items');
  checkOpParameters(op, body.parameters, sentFieldAt);
  const { templateId, items } = body;
  const violation = findFirstViolation(
    RENDER_FIELDS_SCHEMA,
    withoutAbsentFields({ templateId, items }),
    op.op,
  );
  if (violation !== undefined) throw parameterError(violation, sentFieldOfCall);
  return {
    type: op.jobType,
    takes: 'rows',
    variants: [{ parameters: {}, segments: [], credits: [] }],
    ...{ subjects: [], named: [], schemas: [], warnings: [], firstPasses: [] },
    produces: op.produces,
  };
}

type JobOp = Exclude<Op, SyncOp>;

/** The op of each job type that has only one. */
const OP_BY_JOB_TYPE: Record<string, JobOp> = {
  render: OPS.render_template,
  'ai-generate': OPS.generate,
  'ai-edit': OPS.edit,
  parse: OPS.analyze,
};

/**
 * The op of a job, given by the field `op`, or else by `type`.
 * @throws ApiError invalid_param on op when neither is sent, or the op cannot be a job; on steps for a type that needs
 * steps.
 */
export function requireJobOp({ op: name, type }: Pick<JobRequest, 'op' | 'type'>): JobOp {
  if (name !== undefined) {
    return requireOp(name, sentFieldAt('op'), isJobOp, (found, allowed) => {
      const problem = found
        ? `${name} is not a job: POST ${found.endpoint} answers it`
        : `There is no op ${JSON.stringify(name)}`;
      return `${problem}; the ops that run as jobs are ${allowed}.`;
    });
  }
  if (type === undefined) {
    const details = { missing: ['op'], suggest: ['op', 'presetId', 'steps', 'type'] };
    throw invalidParamError('op', 'op is missing: send an op, a presetId, steps, or a type.', details);
  }
  const op = OP_BY_JOB_TYPE[type];
  if (op !== undefined) return op;
  const message = `steps are missing: a job of type ${type} is made of steps.`;
  throw invalidParamError('steps', message, { missing: ['steps'] });
}

function isJobOp(op: Op): op is JobOp {
  return op.runs !== 'answer';
}

/**
 * Moves `prompt` and similar fields of a model's op out of the parameters of a job. A job with steps or a preset is
 * returned unchanged.
 */
export function jobWithLiftedFields(body: JobRequest): JobRequest {
  if (body.steps !== undefined || body.presetId !== undefined) return body;
  const op = body.op === undefined ? OP_BY_JOB_TYPE[body.type ?? ''] : findOp(body.op);
  return withLiftedFields(op, body);
}

/** The fields that define the work, each with the fields that cannot be combined with it. */
const EXCLUSIVE_FIELDS = [
  {
    by: 'steps',
    fields: ['op', 'presetId', ...OVERRIDE_FIELDS, 'templateId', 'items'],
    why: 'the steps say it themselves',
  },
  { by: 'presetId', fields: ['op', 'subjects', 'templateId', 'items'], why: 'the preset decides' },
] as const;

/**
 * Refuses a job that defines its work twice, or is too large to store. This check needs no store, so it comes first.
 * @throws ApiError invalid_param on the field that cannot be combined or is too large.
 */
export function checkJobFields(body: JobRequest): void {
  checkType(body);
  checkBodySize(body);
  refuseFieldsInParameters(body);
  const exclusion = EXCLUSIVE_FIELDS.find(({ by }) => body[by] !== undefined);
  const field = exclusion?.fields.find((name) => body[name] !== undefined);
  if (exclusion === undefined || field === undefined) return;
  const { by, why } = exclusion;
  throw exclusiveFieldError(field, `${field} must be left out beside ${by}: ${why}.`, [by, field]);
}

/** Fields of a job that are no parameters of any op or model. A model would get them as they are. */
const FIELDS_OF_JOB_ALONE = [
  'maxCredits',
  'wait',
  'collection',
  'assetIds',
  'from',
  'variants',
  'imageCount',
  'presetId',
] as const;

/**
 * Refuses a field of the job that was sent as a parameter. For a model it would be one parameter more, and the job
 * would run without its limit.
 */
function refuseFieldsInParameters(body: JobRequest): void {
  const inSteps = (body.steps ?? []).map((step, index) => [`steps[${index}].parameters`, step.parameters]);
  for (const [place, parameters] of [['parameters', body.parameters], ...inSteps]) {
    const name = FIELDS_OF_JOB_ALONE.find(
      (one) => isJsonObject(parameters) && Object.hasOwn(parameters, one),
    );
    if (name === undefined) continue;
    const param = `${place}.${name}`;
    const message = `${name} is a field of the job, and no parameter: send it beside op, and not in ${place}.`;
    throw invalidParamError(
      param,
      message,
      undefined,
      body[name] === undefined ? [{ param, rename: name }] : [],
    );
  }
}

function checkType({ type, op }: JobRequest): void {
  if (type === undefined) return;
  const allowed: readonly string[] = JOB_TYPES;
  if (op === undefined && !allowed.includes(type) && findOp(type) !== undefined) {
    const message = `type is ${type}, which is an op: send it in op, which implies the type.`;
    throw invalidParamError('type', message, undefined, [{ param: 'type', rename: 'op' }]);
  }
  if (!allowed.includes(type)) {
    const message = `type is ${JSON.stringify(type)}: use one of ${allowed.join(', ')}.`;
    throw unknownWordError(sentFieldAt('type'), type, allowed, (hint) => `${message}${hint}`);
  }
  if (op === undefined) return;
  const message = 'Send either op or type: op already implies the type.';
  throw invalidParamError('type', message, undefined, [{ param: 'type', remove: true }]);
}

/** The maximum size of the parameters of all variants together, as bytes of JSON. */
const MAX_VARIANTS_BYTES = 256 * 1024;
/** The maximum size of a list of steps, as bytes of JSON. */
const MAX_STEPS_BYTES = 512 * 1024;

/** Refuses a job whose parameters or steps are too large to store, before they are processed. */
function checkBodySize({ parameters, variants, steps }: JobRequest): void {
  checkJsonSize(parameters, 'parameters');
  checkJsonSize(variants, 'variants', MAX_VARIANTS_BYTES);
  if (steps === undefined) return;
  checkStepSizes(steps, 'steps');
  checkJsonSize(steps, 'steps', MAX_STEPS_BYTES);
}

/** Refuses a job if `type` was sent, and the steps or the preset are of another type. */
function refuseOtherType({ type: sent, presetId }: JobRequest, { type }: CheckedWork): void {
  if (sent === undefined || sent === type) return;
  const whose = presetId === undefined ? 'these steps run' : 'the preset runs';
  const message = `type is ${sent}, but ${whose} as ${type}: leave type out.`;
  throw invalidParamError('type', message, { received: sent, allowed: [type] }, [
    { param: 'type', remove: true },
  ]);
}

const MAX_ITEMS_PER_VARIANT = 10;
const COUNT_SCHEMA = Type.Integer({ minimum: 1, maximum: MAX_ITEMS_PER_VARIANT });
const CALL_VIOLATION_SUBJECT = { owner: 'this call', noun: 'field' } as const;

/**
 * Checks and returns the number of items per variant, for a job without assets. It is 1 except for generate.
 * @throws ApiError invalid_param on count, or on assetIds that the work does not take.
 */
export function checkCount({ count = 1, assetIds }: JobRequest, { takes }: CheckedWork): number {
  if (!Number.isInteger(count) || count < 1 || count > MAX_ITEMS_PER_VARIANT) {
    const field = { path: 'count' };
    const { message, suggest } = mismatchedValueDiagnosis(field, count, COUNT_SCHEMA, CALL_VIOLATION_SUBJECT);
    const details = {
      received: count,
      min: 1,
      max: MAX_ITEMS_PER_VARIANT,
      ...withoutAbsentFields({ suggest }),
    };
    throw invalidParamError('count', message, details);
  }
  if (count > 1 && takes !== 'nothing') {
    const message = 'count is for generate alone: leave it out, and send an asset for each item.';
    throw invalidParamError('count', message, { received: count, max: 1 });
  }
  if (takes !== 'assets' && assetIds !== undefined && assetIds.length > 0) {
    const instead = takes === 'rows' ? 'send items' : 'send count for several, or run edit on them';
    throw invalidParamError('assetIds', `assetIds must be left out: this job takes no pictures; ${instead}.`);
  }
  return count;
}
