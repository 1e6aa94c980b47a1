import { type Static, Type } from '@sinclair/typebox';
import {
  invalidParamError,
  type SentFieldFinder,
  sentFieldAt,
} from '../../../platform/http/errors/errors.ts';
import { createValidator } from '../../../platform/http/errors/validation.ts';
import { withoutAbsentFields } from '../../../platform/values/present.ts';
import { normalizeParameterSpelling } from '../../catalogue/checks/spelling.ts';
import { findOp } from '../../catalogue/index.ts';
import type { GivenParameters, Op } from '../../catalogue/op.ts';
import {
  type PresetStep,
  type RequestedStep,
  savedSteps,
  toRequestedStep,
} from '../../catalogue/plan/step.ts';
import { type JobRequest, VariantFields } from '../schema.ts';

/** A variant of a job. Its parameters are merged into those of the job, and determine its steps. */
export interface RequestedVariant {
  /** The name of the variant, or its index as text. Absent if the job has no variants. */
  name?: string;
  parameters: GivenParameters;
  /** Finds the field in which a value was sent: in the variant, or else in the job. */
  findField: SentFieldFinder;
  steps: RequestedStep[];
}

/** The variants of a job of one op. The op is the only step of each variant. */
export function variantsOfOp(body: JobRequest, op: Op): RequestedVariant[] {
  const { model, prompt } = body;
  return mergedVariants(body).map((variant) => {
    const { findField } = variant;
    const parameters = normalizeParameterSpelling(op, variant.parameters);
    return {
      ...variant,
      parameters,
      steps: [{ op: op.op, ...withoutAbsentFields({ model, prompt }), parameters, findField }],
    };
  });
}

/** The fields of a job that override the single AI step of its preset. */
export const OVERRIDE_FIELDS = ['model', 'prompt', 'parameters', 'variants'] as const;

/**
 * The variants of a job that runs a preset. Each variant overrides fields of the preset's single AI step. If its model
 * is no longer offered, the error names `model`, because the caller can send another model there.
 */
export function variantsOfPreset(body: JobRequest, stored: readonly PresetStep[]): RequestedVariant[] {
  const aiIndex = findOverriddenStepIndex(body, stored);
  const { model, prompt } = body;
  const saved = savedSteps(stored, 'presetId').map((step) => {
    return {
      ...step,
      findField: (key: string) => (key === 'model' ? sentFieldAt(key) : step.findField(key)),
    };
  });
  return mergedVariants(body).map((variant) => {
    const steps = saved.map((step, index) => {
      if (index !== aiIndex) return step;
      const parameters = { ...step.parameters, ...variant.parameters };
      return toRequestedStep(
        { ...step, ...withoutAbsentFields({ model, prompt }), parameters },
        variant.findField,
      );
    });
    return { ...variant, steps };
  });
}

/** The index of the preset's single AI step; undefined if the job overrides nothing. */
function findOverriddenStepIndex(body: JobRequest, steps: readonly PresetStep[]): number | undefined {
  const override = OVERRIDE_FIELDS.find((field) => body[field] !== undefined);
  if (override === undefined) return undefined;
  const aiSteps = steps.flatMap(({ op }, index) => (findOp(op)?.runs === 'model' ? [index] : []));
  const [only, ...others] = aiSteps;
  if (only !== undefined && others.length === 0) return only;
  const foundSteps =
    only === undefined ? 'no step that runs a model' : `${aiSteps.length} steps that run models`;
  const message = `${override} overrides the one AI step of a preset, and this preset has ${foundSteps}: leave it out, or send steps.`;
  throw invalidParamError(override, message);
}

/** Refuses a second variant of the same name, because nobody could tell their items apart. */
function refuseEqualNames(variants: readonly Static<typeof VariantFields>[]): void {
  const names = variants.map(({ name }, index) => name ?? String(index));
  const index = names.findIndex((name, at) => names.indexOf(name) < at);
  const name = names[index];
  if (name === undefined) return;
  const first = names.indexOf(name);
  const message = `variants[${index}] has the name ${name}, as variants[${first}] has: give each variant another name.`;
  const param = `variants[${index}].name`;
  const free = `variant-${index + 1}`;
  const change = variants[index]?.name === undefined ? { add: free } : { replace: free };
  throw invalidParamError(param, message, { received: name }, [{ param, ...change }]);
}

const SentVariants = Type.Array(VariantFields, { minItems: 1, maxItems: 20 });

/**
 * @throws ApiError invalid_param on variants, or `variants[i]…`, when the check finds a violation.
 */
const validateVariants = createValidator(Type.Object({ variants: SentVariants }), 'variants');

/**
 * The variants of a job with merged parameters, but without steps. If none were sent, the job itself is the only
 * variant.
 * @throws ApiError invalid_param on variants.
 */
function mergedVariants({ parameters = {}, variants: sent }: JobRequest): Omit<RequestedVariant, 'steps'>[] {
  if (sent === undefined) return [{ parameters, findField: sentFieldAt }];
  const { variants } = validateVariants({ variants: sent });
  refuseEqualNames(variants);
  return variants.map(({ name, parameters: own = {} }, index) => {
    const inherited = Object.keys(parameters).filter((key) => !Object.hasOwn(own, key));
    const findField = (key: string) => {
      const [field, parameter = ''] = key.split(/[.[]/);
      const isOwn = field === 'parameters' && !inherited.includes(parameter);
      return sentFieldAt(isOwn ? `variants[${index}].${key}` : key);
    };
    return { name: name ?? String(index), parameters: { ...parameters, ...own }, findField };
  });
}
