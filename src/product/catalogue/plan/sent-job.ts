import { Type } from '@sinclair/typebox';
import {
  invalidParamError,
  type SentFieldFinder,
  sentFieldAt,
} from '../../../platform/http/errors/errors.ts';
import { createValidator } from '../../../platform/http/errors/validation.ts';
import { isJsonObject } from '../../../platform/values/json.ts';
import { withoutAbsentFields } from '../../../platform/values/present.ts';
import { normalizeParameterSpelling } from '../checks/spelling.ts';
import { findOp, OPS } from '../index.ts';
import type { GivenParameters, Op, SyncOp } from '../op.ts';
import { requireOp } from '../usual-words.ts';
import {
  checkJsonSize,
  checkStepSizes,
  type PresetStep,
  type PromptSubject,
  type RequestedStep,
  savedSteps,
  toRequestedStep,
  withLiftedFields,
} from './step.ts';

/** The fields of a job body that describe the work. The schema of the route has checked their types. */
export interface JobWork {
  op?: string | undefined;
  type?: string | undefined;
  steps?: readonly PresetStep[] | undefined;
  subjects?: readonly unknown[] | undefined;
  presetId?: string | undefined;
  model?: string | undefined;
  prompt?: string | undefined;
  parameters?: GivenParameters | undefined;
  count?: number | undefined;
  variants?: readonly unknown[] | undefined;
  templateId?: string | undefined;
  items?: readonly unknown[] | undefined;
  assetIds?: readonly unknown[] | undefined;
}

/** A stored version of a preset. */
export interface StoredSteps {
  steps: readonly PresetStep[];
  subjects: readonly PromptSubject[];
}

/** One variant of a job. Its parameters are merged over those of the job, and its steps are made of them. */
export interface RequestedVariant {
  /** Its name, or its index as text. Absent if the job has no variants. */
  name?: string;
  parameters: GivenParameters;
  /** Finds where a field was sent: in the variant, or else in the job. */
  at: SentFieldFinder;
  steps: RequestedStep[];
}

type JobOp = Exclude<Op, SyncOp>;

/** The op of each raw type. */
const OP_OF_TYPE: Record<string, JobOp> = {
  render: OPS.render_template,
  'ai-generate': OPS.generate,
  'ai-edit': OPS.edit,
  parse: OPS.analyze,
};

/**
 * The op that a job names directly or by its raw type.
 * @throws ApiError invalid_param on op when none is named or it cannot be a job; on steps for a type that needs steps.
 */
export function requireJobOp({ op: name, type }: JobWork): JobOp {
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
  const op = OP_OF_TYPE[type];
  if (op !== undefined) return op;
  const message = `steps are missing: a job of type ${type} is made of steps.`;
  throw invalidParamError('steps', message, { missing: ['steps'] });
}

function isJobOp(op: Op): op is JobOp {
  return op.runs !== 'answer';
}

/** The body of a job after `withLiftedFields`. A job of steps or a preset is returned unchanged. */
export function jobWithLiftedFields<T extends JobWork>(body: T): T {
  if (body.steps !== undefined || body.presetId !== undefined) return body;
  const op = body.op === undefined ? OP_OF_TYPE[body.type ?? ''] : findOp(body.op);
  return withLiftedFields(op, body);
}

/** The variants of a job of one op. Each is a list with one step. */
export function variantsOfOp(body: JobWork, op: JobOp): RequestedVariant[] {
  const { model, prompt } = body;
  return mergedVariants(body).map((variant) => {
    const { at } = variant;
    const parameters = normalizeParameterSpelling(op, variant.parameters);
    return {
      ...variant,
      parameters,
      steps: [{ op: op.op, ...withoutAbsentFields({ model, prompt }), parameters, at }],
    };
  });
}

/** The fields that override the single AI step of a preset. */
export const OVERRIDES = ['model', 'prompt', 'parameters', 'variants'] as const;

/**
 * The variants of a job that runs a preset. Each variant overrides fields of the single AI step. A model that is no
 * longer offered is refused on `model`, because another one can be sent there.
 */
export function variantsOfPreset(body: JobWork, stored: readonly PresetStep[]): RequestedVariant[] {
  const aiIndex = overriddenStep(body, stored);
  const { model, prompt } = body;
  const saved = savedSteps(stored, 'presetId').map((step) => {
    return { ...step, at: (key: string) => (key === 'model' ? sentFieldAt(key) : step.at(key)) };
  });
  return mergedVariants(body).map((variant) => {
    const steps = saved.map((step, index) => {
      if (index !== aiIndex) return step;
      const parameters = { ...step.parameters, ...variant.parameters };
      return toRequestedStep({ ...step, ...withoutAbsentFields({ model, prompt }), parameters }, variant.at);
    });
    return { ...variant, steps };
  });
}

/** The index of the single AI step, if overrides were sent. */
function overriddenStep(body: JobWork, steps: readonly PresetStep[]): number | undefined {
  const override = OVERRIDES.find((field) => body[field] !== undefined);
  if (override === undefined) return undefined;
  const aiSteps = steps.flatMap(({ op }, index) => (findOp(op)?.runs === 'model' ? [index] : []));
  const [only, ...others] = aiSteps;
  if (only !== undefined && others.length === 0) return only;
  const has = only === undefined ? 'no step that runs a model' : `${aiSteps.length} steps that run models`;
  const message = `${override} overrides the one AI step of a preset, and this preset has ${has}: leave it out, or send steps.`;
  throw invalidParamError(override, message);
}

const SentVariantFields = Type.Object(
  {
    name: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
    parameters: Type.Optional(Type.Unsafe<GivenParameters>({ type: 'object', additionalProperties: true })),
  },
  { additionalProperties: false },
);

/** @throws ApiError (from the check) invalid_param on variants, or `variants[i]…`. */
const checkShape = createValidator(
  Type.Object({ variants: Type.Array(SentVariantFields, { minItems: 1, maxItems: 20 }) }),
  'variants',
);

/**
 * The variants of each asset, with merged parameters. There is a single one when none were sent.
 * @throws ApiError invalid_param on variants, or on parameters that are not an object.
 */
function mergedVariants({ parameters = {}, variants: sent }: JobWork): Omit<RequestedVariant, 'steps'>[] {
  if (sent === undefined) return [{ parameters, at: sentFieldAt }];
  if (!isJsonObject(parameters)) throw invalidParamError('parameters', 'parameters must be an object.');
  const { variants } = checkShape({ variants: sent });
  return variants.map(({ name, parameters: own = {} }, index) => {
    const inherited = Object.keys(parameters).filter((key) => !Object.hasOwn(own, key));
    const at = (key: string) => {
      const [parameters, name = ''] = key.split(/[.[]/);
      const isOwn = parameters === 'parameters' && !inherited.includes(name);
      return sentFieldAt(isOwn ? `variants[${index}].${key}` : key);
    };
    return { name: name ?? String(index), parameters: { ...parameters, ...own }, at };
  });
}

/** Largest parameters of all variants of a job together, in bytes of JSON. */
const MAX_VARIANTS_BYTES = 256 * 1024;
/** Largest list of steps, as JSON. */
const MAX_STEPS_BYTES = 512 * 1024;

/**
 * Refuses a job whose stored parameters would be too large, before they are processed.
 * @throws ApiError invalid_param on parameters, variants, steps, or the parameters or params of a step.
 */
export function checkJobSize({ parameters, variants, steps }: JobWork): void {
  checkJsonSize(parameters, 'parameters');
  checkJsonSize(variants, 'variants', MAX_VARIANTS_BYTES);
  if (steps === undefined) return;
  checkStepSizes(steps, 'steps');
  checkJsonSize(steps, 'steps', MAX_STEPS_BYTES);
}
