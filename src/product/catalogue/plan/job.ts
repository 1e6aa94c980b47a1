import { Type } from '@sinclair/typebox';
import { argumentsSchema } from '../../../../workers/image/operations/parameter.ts';
import { exclusiveFieldError, invalidParamError, sentFieldAt } from '../../../platform/http/errors/errors.ts';
import { mismatchedValueDiagnosis, unknownWordError } from '../../../platform/http/errors/violations.ts';
import type { CallWarning } from '../../../platform/http/hooks/warnings.ts';
import { distinctValues } from '../../../platform/values/json.ts';
import { withoutAbsentFields } from '../../../platform/values/present.ts';
import type { ModelsFile } from '../../models/models.ts';
import { checkOpParameters, findFirstViolation, parameterError, sentFieldOfCall } from '../checks/check.ts';
import { callWarningsOf, type StepWarning, stepWarningsOf } from '../checks/warnings.ts';
import { OPS } from '../index.ts';
import type { GivenParameters, Op, RenderOp, SegmentType } from '../op.ts';
import {
  type ItemInputKind,
  itemInputKindOf,
  jobTypeOfSegments,
  type PlanSegment,
  segmentPlanOf,
} from './plan.ts';
import {
  checkJobSize,
  type JobWork,
  OVERRIDES,
  type RequestedVariant,
  requireJobOp,
  type StoredSteps,
  variantsOfOp,
  variantsOfPreset,
} from './sent-job.ts';
import { type PromptSubject, refuseFields, sentSteps } from './step.ts';
import { checkSteps, type NamedAsset, type RequestedAnswerSchema, sentAnswerSchemasOf } from './subjects.ts';

/** The checked work of a job. */
interface CheckedWork {
  type: SegmentType | 'chain';
  /** Present only when the job was submitted as an op. */
  op?: Op['op'];
  takes: ItemInputKind;
  /** At least one. */
  variants: CheckedVariant[];
  subjects: PromptSubject[];
  /** Assets besides those of the items. Whether they exist is checked later. */
  named: NamedAsset[];
  /** Schemas that were sent for answers. They are still to be compiled. */
  schemas: RequestedAnswerSchema[];
  warnings: StepWarning[];
  produces: 'image' | 'json';
}

/** A completely checked job. Nothing is stored, held or charged yet. */
export interface CheckedJob extends CheckedWork {
  /** The number of items per variant of a job without assets; 1 except for generate. */
  count: number;
}

export interface CheckedVariant {
  /** The variant's name, or its index as text; absent without variants. */
  name?: string;
  /** The variant's parameters, merged over the job's. */
  parameters: GivenParameters;
  /** Absent on a render. */
  segments: PlanSegment[];
  /** Warnings about its steps, as a call that does the same returns them. Absent if there are none. */
  warnings?: CallWarning[];
}

/** The types of jobs. */
export const JOB_TYPES = ['ai-generate', 'ai-edit', 'parse', 'process', 'render', 'chain'] as const;

/** The fields that define the work, each with the fields that must not be sent with it. */
const EXCLUSIONS = [
  {
    by: 'steps',
    fields: ['op', 'presetId', ...OVERRIDES, 'templateId', 'items'],
    why: 'the steps say it themselves',
  },
  { by: 'presetId', fields: ['op', 'subjects', 'templateId', 'items'], why: 'the preset decides' },
] as const;

/**
 * Checks the work of a job that has no contradictions against the catalogue: op, type, steps, model, prompt,
 * parameters, count, variants and subjects, for a submit as for a dry run.
 * @param stored the version that presetId names.
 * @throws ApiError invalid_param on the field at fault.
 */
export function checkJob(body: JobWork, models: ModelsFile, stored?: StoredSteps): CheckedJob {
  const work = checkWork(body, models, stored);
  refuseOtherType(body, work);
  return { ...work, count: checkCount(work, body) };
}

function checkWork(body: JobWork, models: ModelsFile, stored: StoredSteps | undefined): CheckedWork {
  const { steps, presetId, subjects } = body;
  if (steps !== undefined) {
    const only = { parameters: {}, at: sentFieldAt, steps: sentSteps(steps) };
    return checkVariants([only], subjects ?? [], models);
  }
  if (presetId !== undefined) {
    if (stored === undefined) throw new Error('The preset is read before the job is checked.');
    const variants = variantsOfPreset(body, stored.steps);
    const work = checkVariants(variants, stored.subjects, models);
    const named = work.named.map((asset) => ({ ...asset, param: 'presetId' }));
    // The schemas of the preset itself were compiled when it was saved.
    return { ...work, named, schemas: variants.flatMap(sentAnswerSchemasOf) };
  }
  if (subjects !== undefined) {
    throw invalidParamError(
      'subjects',
      'subjects come with steps: leave them out, or send the op as a step.',
    );
  }
  const op = requireJobOp(body);
  const named = body.op === undefined ? {} : { op: op.op };
  if (op.runs === 'render') return { ...named, ...renderWork(body, op) };
  refuseFields(body, ['templateId', 'items'], `${op.op} draws no template`);
  return { ...named, ...checkVariants(variantsOfOp(body, op), [], models) };
}

/** Checks each variant. What variants share is taken from the first, and assets that several name are listed once. */
function checkVariants(
  sent: readonly RequestedVariant[],
  sentSubjects: readonly unknown[],
  models: ModelsFile,
): CheckedWork {
  const lists = sent.map(({ name, parameters, steps }) => {
    const { segments, ...checked } = checkSteps(steps, sentSubjects, models);
    const warnings = stepWarningsOf(segments);
    const told = callWarningsOf(warnings);
    const variant: CheckedVariant = {
      ...{ ...withoutAbsentFields({ name }), parameters, segments: segmentPlanOf(segments) },
      ...(told.length > 0 && { warnings: told }),
    };
    return { ...checked, variant, warnings };
  });
  const [first] = lists;
  const segments = first?.variant.segments ?? [];
  return {
    type: jobTypeOfSegments(segments),
    takes: itemInputKindOf(segments),
    variants: lists.map(({ variant }) => variant),
    subjects: first?.subjects ?? [],
    named: distinctValues(lists.flatMap(({ named }) => named)),
    schemas: lists.flatMap(({ schemas }) => schemas),
    warnings: distinctValues(lists.flatMap(({ warnings }) => warnings)),
    produces: segments.at(-1)?.produces ?? 'image',
  };
}

/** The schema of a render's fields. It is made once, because the validator of a schema is kept. */
const RENDER_FIELDS = argumentsSchema(OPS.render_template.fields);

/** A render job has rows instead of assets and variants. */
function renderWork(body: JobWork, op: RenderOp): CheckedWork {
  refuseFields(body, ['model', 'prompt'], 'a render runs no model');
  refuseFields(body, ['variants'], 'a render makes one image of each of its items');
  checkOpParameters(op, body.parameters, sentFieldAt);
  const { templateId, items } = body;
  const violation = findFirstViolation(RENDER_FIELDS, withoutAbsentFields({ templateId, items }), op.op);
  if (violation !== undefined) throw parameterError(violation, sentFieldOfCall);
  return {
    type: op.jobType,
    takes: 'rows',
    variants: [{ parameters: {}, segments: [] }],
    ...{ subjects: [], named: [], schemas: [], warnings: [] },
    produces: op.produces,
  };
}

/**
 * Refuses a job that defines its work twice. This check needs no look-up, so it comes first.
 * @throws ApiError invalid_param on the field that must not be sent.
 */
export function refuseContradictions(body: JobWork): void {
  checkType(body);
  checkJobSize(body);
  const exclusion = EXCLUSIONS.find(({ by }) => body[by] !== undefined);
  const field = exclusion?.fields.find((name) => body[name] !== undefined);
  if (exclusion === undefined || field === undefined) return;
  const { by, why } = exclusion;
  throw exclusiveFieldError(field, `${field} must be left out beside ${by}: ${why}.`, [by, field]);
}

function checkType({ type, op }: JobWork): void {
  if (type === undefined) return;
  const allowed: readonly string[] = JOB_TYPES;
  if (!allowed.includes(type)) {
    const message = `type is ${JSON.stringify(type)}: use one of ${allowed.join(', ')}.`;
    throw unknownWordError(sentFieldAt('type'), type, allowed, (hint) => `${message}${hint}`);
  }
  if (op === undefined) return;
  const message = 'Send either op or type: op already implies the type.';
  throw invalidParamError('type', message, undefined, [{ param: 'type', remove: true }]);
}

/** Refuses a job whose steps or preset have another type than the type that was sent. */
function refuseOtherType({ type: sent, presetId }: JobWork, { type }: CheckedWork): void {
  if (sent === undefined || sent === type) return;
  const whose = presetId === undefined ? 'these steps run' : 'the preset runs';
  const message = `type is ${sent}, but ${whose} as ${type}: leave type out.`;
  throw invalidParamError('type', message, { received: sent, allowed: [type] }, [
    { param: 'type', remove: true },
  ]);
}

const MAX_COUNT = 10;
const COUNT = Type.Integer({ minimum: 1, maximum: MAX_COUNT });
const CALL = { owner: 'this call', noun: 'field' } as const;

/** Only work without assets can have a count. */
function checkCount({ takes }: CheckedWork, { count = 1, assetIds }: JobWork): number {
  if (!Number.isInteger(count) || count < 1 || count > MAX_COUNT) {
    const { message, suggest } = mismatchedValueDiagnosis({ path: 'count' }, count, COUNT, CALL);
    throw invalidParamError('count', message, {
      received: count,
      min: 1,
      max: MAX_COUNT,
      ...withoutAbsentFields({ suggest }),
    });
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
