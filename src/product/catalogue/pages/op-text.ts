import { findOp } from '../index.ts';
import { PASS_PARAMETERS } from '../parameters.ts';
import type { OpDefinition, OpParameter } from '../schema.ts';
import { readableQueryText } from './query-text.ts';

/** The type, bounds, values, default and meaning of a parameter in one line. */
export function parameterSummaryLine(parameter: OpParameter): string {
  const fallback = defaultTextOf(parameter);
  return `${acceptedValuesText(parameter)}${fallback === undefined ? '' : `; default ${fallback}`}. ${parameter.description}`;
}

export function defaultTextOf({ default: fallback }: OpParameter): string | undefined {
  return fallback === undefined ? undefined : String(fallback).replace(/\.$/, '');
}

/** The types of a parameter with their bounds, or the words that it accepts. */
export function acceptedValuesText({ type, enum: words, min, max }: OpParameter): string {
  const types = type.split(' or ');
  // If a parameter has several types, its bounds apply to the number, and its list of values applies to the text.
  const hasBounds = types.filter(isNumeric).length > 0 ? isNumeric : () => true;
  const worded = types.includes('string') ? 'string' : types[0];
  const described = types.map((one) => {
    if (words !== undefined && one === worded) return words.join(', ');
    return `${one}${hasBounds(one) ? boundsText(one, min, max) : ''}`;
  });
  return described.join(' or ');
}

function isNumeric(type: string): boolean {
  return type === 'integer' || type === 'number';
}

/** The bounds of a number, of the length of a text, or of the number of entries of a list. */
function boundsText(type: string, min: number | undefined, max: number | undefined): string {
  if (min === undefined && max === undefined) return '';
  const counted = isNumeric(type) ? '' : type === 'array' ? ' entries' : ' characters';
  if (max === undefined) return ` of at least ${min}${counted}`;
  if (min === undefined) return ` of at most ${max}${counted}`;
  return counted === '' ? ` ${min} to ${max}` : ` of ${min} to ${max}${counted}`;
}

/** Whether a synchronous call can run the op only as one of several steps, because the op reads a second picture. */
export function runsOnlyWithinSyncSteps(name: string): boolean {
  const op = findOp(name);
  return op?.runs === 'pass' && op.readsSecondAsset !== undefined;
}

/**
 * The synchronous call of an op as `POST /path?query`. The image is its body; for a render, the JSON body is appended.
 * Undefined for an op that runs in jobs only.
 */
export function syncCallText(definition: OpDefinition): string | undefined {
  const { endpoint, syncEndpoint, syncParams, syncExample = {} } = definition;
  if (endpoint !== undefined) return `POST /api/v1${endpoint}`;
  if (syncEndpoint === undefined) return undefined;
  if (syncParams !== undefined) return `POST /api/v1${syncEndpoint} ${JSON.stringify(syncExample)}`;
  const query = readableQueryText(syncExample);
  return `POST /api/v1${syncEndpoint}${query === '' ? '' : `?${query}`}`;
}

/** Whether a parameter is shared by every op that writes an image, with the same meaning. */
export function isSharedParameter({ params, kind }: OpDefinition, name: string): boolean {
  const shared = (PASS_PARAMETERS as Record<string, { description?: string }>)[name];
  return kind === 'deterministic' && shared !== undefined && params[name]?.description === shared.description;
}
