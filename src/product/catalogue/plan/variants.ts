import { invalidParam } from '../../../platform/http/errors/errors.ts';
import { isObject } from '../../../platform/values/json.ts';
import { isLongerThan } from '../../../platform/values/lengths.ts';
import { present } from '../../../platform/values/present.ts';
import type { Given } from '../op.ts';
import type { CheckedVariant, JobWork } from './checked-job.ts';
import type { CompiledStep } from './compiled-step.ts';
import { planOf } from './plan.ts';

/** A variant with its parameters merged over the job's. */
export interface MergedVariant {
  /** Its name, or its index as text; absent where no variants were sent. */
  name?: string;
  parameters: Given;
  /** The prefix of a parameter's name in a refusal: the variant's when it was sent there, else the job's. */
  prefixOf: (key: string) => string;
}

const MAX_VARIANTS = 20;
const MAX_NAME_CHARACTERS = 100;

/**
 * The variants of each asset: a single one when none were sent.
 * @throws ApiError invalid_param on variants, or on parameters that are not an object.
 */
export function mergedVariants({ parameters = {}, variants }: JobWork): MergedVariant[] {
  if (variants === undefined) return [{ parameters, prefixOf: () => 'parameters.' }];
  if (!isObject(parameters)) throw invalidParam('parameters', 'parameters must be an object.');
  if (!Array.isArray(variants) || variants.length < 1 || variants.length > MAX_VARIANTS) {
    const message = `variants must be a list of 1 to ${MAX_VARIANTS} objects with parameters.`;
    throw invalidParam('variants', message, { min: 1, max: MAX_VARIANTS });
  }
  return variants.map((variant: unknown, index) => {
    const { name, parameters: own = {} } = readVariant(variant, index);
    const prefixOf = (key: string) =>
      Object.hasOwn(parameters, key) && !Object.hasOwn(own, key)
        ? 'parameters.'
        : `variants[${index}].parameters.`;
    return { name: name ?? String(index), parameters: { ...parameters, ...own }, prefixOf };
  });
}

/** A variant with the segments of its compiled steps. */
export function plannedVariant(
  { name, parameters }: { name?: string | undefined; parameters: Given },
  compiled: readonly CompiledStep[],
): CheckedVariant {
  return { ...present({ name }), parameters, segments: planOf(compiled) };
}

function readVariant(variant: unknown, index: number): { name?: string; parameters?: Given } {
  const at = `variants[${index}]`;
  if (!isObject(variant)) throw invalidParam(at, `${at} must be an object with parameters.`);
  const { name, parameters, ...others } = variant;
  const [unknownField] = Object.keys(others);
  if (unknownField !== undefined) {
    throw invalidParam(`${at}.${unknownField}`, `${at} takes name and parameters alone.`, {
      allowed: ['name', 'parameters'],
    });
  }
  if (name !== undefined && !isName(name)) {
    throw invalidParam(`${at}.name`, `${at}.name must be text of 1 to ${MAX_NAME_CHARACTERS} characters.`);
  }
  if (parameters !== undefined && !isObject(parameters))
    throw invalidParam(`${at}.parameters`, `${at}.parameters must be an object.`);
  return present({ name, parameters });
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && !isLongerThan(value, MAX_NAME_CHARACTERS);
}
