import { type CallCorrection, requestLineCorrections } from '../../platform/http/errors/corrections.ts';
import {
  type ApiError,
  invalidParamError,
  type SentField,
  sentFieldAt,
} from '../../platform/http/errors/errors.ts';
import type { SuggestedWord } from '../../platform/http/errors/violations.ts';
import { hintFirst, likelyNames } from '../../platform/ids/nearest.ts';
import { findOp } from '../catalogue/index.ts';
import {
  endpointOf,
  type GivenParameters,
  type Op,
  type PixelOp,
  TRANSFORM_ENDPOINT,
} from '../catalogue/op.ts';
import { suggestOp } from '../catalogue/usual-words.ts';
import type { JobInputs } from './input.ts';
import { TRANSFORM_OPS } from './transform-schema.ts';

/** The maximum number of ops that an error suggests. If more of them have the sent parameters, none is suggested. */
const MAX_SUGGESTED_OPS = 8;
/** The maximum number of parameters of a call without an op that are compared with the ops' parameters. */
const MAX_COMPARED_PARAMETERS = 20;

/** The error for an op that reads a second picture, if the call does not send it as a step. */
export function onlyAsStepError(op: string, parameters: GivenParameters): ApiError {
  const steps = [{ op, ...(Object.keys(parameters).length > 0 && { parameters }) }];
  const message = `The op ${op} reads a second picture, so it runs only as a job, or in steps or outputs: send steps=${JSON.stringify(steps)} as a multipart field, and the second picture as a part named layer; or name layerUrl or layerAssetId in the parameters of the step.`;
  return invalidParamError('op', message, {
    received: op,
    allowed: transformOpNames(),
    instead: [{ steps }],
  });
}

/**
 * The op of this name. It must be one that this endpoint can run, at least as a step.
 * @param parametersOf returns the parameters that were sent, parsed for an op.
 */
export function requireTransformOp(
  name: string,
  parametersOf: (op: Op) => GivenParameters,
  inputs: JobInputs = {},
  { path, refuse }: SentField = sentFieldAt('op'),
): PixelOp {
  const op = findOp(name);
  if (op === undefined) {
    const { hint, corrections, ...instead } =
      suggestSteps(name, parametersOf) ?? suggestOp(name, path, transformOpNames());
    const message = `There is no op "${name}": GET /api/v1/ops?view=names lists them all.`;
    throw refuse(
      hintFirst(hint, message),
      { received: name, allowed: transformOpNames(), ...instead },
      corrections,
    );
  }
  if (op.runs === 'pass' && (op.syncEndpoint === TRANSFORM_ENDPOINT || op.readsSecondAsset !== undefined))
    return op;
  const details = {
    received: name,
    allowed: transformOpNames(),
    ...suggestOtherCall(op, parametersOf(op), inputs),
  };
  const corrections = path === 'op' ? endpointCorrections(op) : [];
  const upload =
    details.missing === undefined
      ? ''
      : ' Upload the image first: POST /api/v1/assets/upload answers its id, which goes into assetIds.';
  throw refuse(`The op ${name} ${whereItRuns(op)}: send it there.${upload}`, details, corrections);
}

/**
 * The corrections that send a call to the separate endpoint of its op. That endpoint takes no `op`. Empty if the op has
 * no separate endpoint.
 */
function endpointCorrections(op: Op): CallCorrection[] {
  const endpoint = endpointOf(op);
  if (endpoint === undefined) return [];
  return [...requestLineCorrections({ path: `/api/v1${endpoint}` }), { param: 'op', remove: true }];
}

/**
 * Suggests how else to run an op that this endpoint does not run: by another endpoint, or by a job. The job lacks its
 * assets if the image is none yet.
 */
function suggestOtherCall(
  op: Op,
  parameters: GivenParameters,
  inputs: JobInputs,
): { suggest?: string[]; instead?: object[]; missing?: string[] } {
  const endpoint = endpointOf(op);
  if (endpoint !== undefined) return { suggest: [`POST /api/v1${endpoint}`] };
  const work = { op: op.op, ...(Object.keys(parameters).length > 0 && { parameters }) };
  const instead = [{ job: { ...work, ...(op.requiresAssets && inputs) } }];
  return { instead, ...(op.requiresAssets && inputs.assetIds === undefined && { missing: ['assetIds'] }) };
}

/**
 * Suggests steps for a comma-separated list of ops that was sent as one op. Each parameter goes to the last of these
 * ops that has it. If a parameter belongs to none of the ops, no steps are suggested.
 */
function suggestSteps(
  name: string,
  parametersOf: (op: Op) => GivenParameters,
): (SuggestedWord & { instead?: object[] }) | undefined {
  if (!name.includes(',')) return undefined;
  const hint = ' Several ops are steps: send them in a multipart field or in JSON, instead of op.';
  const names = name.split(',').map((op) => op.trim());
  const sentNames = new Set<string>();
  const assigned = new Set<string>();
  const steps = names.toReversed().map((op) => {
    const found = findOp(op);
    const sent = found === undefined ? [] : Object.entries(parametersOf(found));
    for (const [key] of sent) sentNames.add(key);
    const own = sent.filter(
      ([key]) => !assigned.has(key) && Object.hasOwn(found?.parameters.properties ?? {}, key),
    );
    for (const [key] of own) assigned.add(key);
    return { op, ...(own.length > 0 && { parameters: Object.fromEntries(own) }) };
  });
  const isComplete = sentNames.isSubsetOf(assigned);
  return { hint, corrections: [], ...(isComplete && { instead: [{ steps: steps.toReversed() }] }) };
}

/**
 * The ops that have the largest number of these parameters; similar names count as well. Empty if too many ops have the
 * same number of them.
 */
function findBestMatchingOps(names: readonly string[]): string[] {
  const counted = TRANSFORM_OPS.map(({ op, parameters }) => {
    const parameterNames = Object.keys(parameters.properties);
    const taken = names
      .slice(0, MAX_COMPARED_PARAMETERS)
      .filter((name) => likelyNames(name, parameterNames).length === 1);
    return { op, count: taken.length };
  });
  const most = Math.max(...counted.map(({ count }) => count));
  const ops = counted.flatMap(({ op, count }) => (count === most ? [op] : []));
  return most > 0 && ops.length <= MAX_SUGGESTED_OPS ? ops : [];
}

/**
 * The error for a call without an op. If another field contains the name of an op, the error suggests renaming that
 * field.
 * @param parameters what was sent within `parameters`.
 * @param sent the other fields of the call.
 */
export function missingOpError(
  parameters: GivenParameters | undefined,
  sent: Readonly<Record<string, unknown>>,
): ApiError {
  const likely = findBestMatchingOps(Object.keys({ ...parameters, ...sent }));
  const message = `op is missing: name one, such as op=${likely[0] ?? 'resize'} (GET /api/v1/ops?view=names lists them all), a saved preset, or several ops as steps in a multipart field or in JSON.`;
  const details = { allowed: transformOpNames(), ...(likely.length > 0 && { suggest: likely }) };
  const misnamed = Object.keys(sent).find((name) => findOp(String(sent[name])) !== undefined);
  const corrections = misnamed === undefined ? [] : [{ param: misnamed, rename: 'op' }];
  return invalidParamError('op', message, details, corrections);
}

function whereItRuns(op: Op): string {
  const endpoint = endpointOf(op);
  if (endpoint === undefined) return 'runs only as a job (POST /api/v1/jobs)';
  return `is answered by POST /api/v1${endpoint}`;
}

function transformOpNames(): string[] {
  return TRANSFORM_OPS.map(({ op }) => op);
}
