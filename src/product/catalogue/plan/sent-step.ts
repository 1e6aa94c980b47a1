import { isDeepStrictEqual } from 'node:util';
import { stepNamed } from '../../../../workers/image/operations/index.ts';
import { invalidParamError, type SentField, sentFieldAt } from '../../../platform/http/errors/errors.ts';
import { siblingPath } from '../../../platform/http/errors/mends.ts';
import { isJsonObject } from '../../../platform/values/json.ts';
import { findOp } from '../index.ts';
import type { GivenParameters, Op } from '../op.ts';
import type { PresetStep } from './step.ts';

/**
 * One step of work. All work is a list of steps: an op is a list of one, and each variant has its own list. A step
 * knows where its fields were sent, so that its errors can name them.
 */
export interface RequestedStep extends PresetStep {
  /** Finds the field of the step that was sent as `op`, `model` or `parameters.width`; '' for the step itself. */
  at: SentFieldFinder;
}

export type SentFieldFinder = (key: string) => SentField;

/**
 * Steps with the places where they were sent.
 * @param where the name of the list, such as `steps` or `versions[2].steps`.
 */
export function sentSteps(steps: readonly PresetStep[], where = 'steps'): RequestedStep[] {
  return steps.map((step, index) => toRequestedStep(step, (key) => sentFieldAt(nameOf(where, index, key))));
}

/**
 * The steps of a saved preset. They are checked again, because an earlier release may have checked them by other
 * contracts. An error names the parameter that named the preset.
 */
export function savedSteps(steps: readonly PresetStep[], param: string): RequestedStep[] {
  return steps.map((step, index) =>
    toRequestedStep(step, (key) => savedIn(param, nameOf('steps', index, key))),
  );
}

/** A step as it was sent, after `withLiftedFields`. */
export function toRequestedStep(step: PresetStep, at: SentFieldFinder): RequestedStep {
  return { ...withLiftedFields(findOp(step.op), step, at), at };
}

/**
 * The parameter in which a step names a second picture: its field, and the key within it. Undefined if the step reads
 * none.
 */
export function secondPictureFieldOf({
  op: name,
  operation,
}: PresetStep): { field: 'parameters' | 'params'; key: string } | undefined {
  const op = findOp(name);
  const work = name === undefined ? stepNamed(operation ?? '') : op?.runs === 'pass' ? op : undefined;
  const key = work?.readsSecondAsset;
  return key === undefined ? undefined : { field: name === undefined ? 'params' : 'parameters', key };
}

/**
 * Moves fields of a model's op (`prompt`, `count`) out of its parameters, where callers may send them because the
 * catalogue lists both together.
 * @throws ApiError invalid_param on the parameter when the field was sent in both places with different values.
 */
export function withLiftedFields<T extends { parameters?: unknown }>(
  op: Op | undefined,
  sent: T,
  at: SentFieldFinder = sentFieldAt,
): T {
  const { parameters } = sent;
  if (op?.runs !== 'model' || !isJsonObject(parameters)) return sent;
  const names = Object.keys(op.fields).filter((name) => Object.hasOwn(parameters, name));
  if (names.length === 0) return sent;
  const remaining: Record<string, unknown> = { ...parameters };
  const fields: Record<string, unknown> = {};
  for (const name of names) {
    const own = (sent as GivenParameters)[name];
    if (own !== undefined && !isDeepStrictEqual(own, remaining[name])) {
      const message = `${name} is sent beside the op and within its parameters, and the two differ: send it once, beside the op.`;
      throw at(`parameters.${name}`).refuse(message);
    }
    fields[name] = remaining[name];
    delete remaining[name];
  }
  return { ...sent, ...fields, parameters: remaining };
}

/**
 * Refuses fields that have no meaning here.
 * @param why the reason, as the end of the sentence; `excludedBy` is the field that excludes them, and `ownName` the
 *   name of the only one of them here.
 * @throws ApiError invalid_param on the first of them that was sent.
 */
export function refuseFields<T extends object>(
  sent: T,
  fields: readonly (keyof T & string)[],
  why: string,
  {
    at = sentFieldAt,
    excludedBy,
    ownName,
  }: { at?: SentFieldFinder; excludedBy?: string; ownName?: string } = {},
): void {
  const field = fields.find((name) => sent[name] !== undefined);
  if (field === undefined) return;
  const { name, path, refuse } = at(field);
  const message = (where: string) => `${name} must be left out${where}: ${why}.`;
  if (excludedBy !== undefined)
    throw refuse(message(` beside ${excludedBy}`), { suggest: [excludedBy, name] });
  const mend = ownName === undefined ? { remove: true as const } : { rename: siblingPath(path, ownName) };
  throw refuse(message(''), undefined, [{ param: path, ...mend }]);
}

function nameOf(where: string, index: number, key: string): string {
  return key === '' ? `${where}[${index}]` : `${where}[${index}].${key}`;
}

function savedIn(param: string, name: string): SentField {
  const refuse = (message: string) =>
    invalidParamError(param, `The preset has a step that is no longer accepted, save it again: ${message}`, {
      step: name,
    });
  return { param, name, path: name, refuse };
}
