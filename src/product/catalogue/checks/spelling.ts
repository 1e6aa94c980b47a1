import type { TObject, TSchema } from '@sinclair/typebox';
import { findOp } from '../index.ts';
import type { Given, Op } from '../op.ts';

/** Other names of formats, in lower case and without `image/`. */
const FORMATS = new Map(Object.entries({ jpg: 'jpeg', jfif: 'jpeg', tif: 'tiff' }));

/** Other names of positions, in lower case and with `-` between words. */
const POSITIONS = new Map<string, string>(
  Object.entries({
    centre: 'center',
    middle: 'center',
    top: 'north',
    bottom: 'south',
    left: 'west',
    right: 'east',
    'top-left': 'northwest',
    'top-right': 'northeast',
    'bottom-left': 'southwest',
    'bottom-right': 'southeast',
    'left-top': 'northwest',
    'right-top': 'northeast',
    'left-bottom': 'southwest',
    'right-bottom': 'southeast',
    'north-west': 'northwest',
    'north-east': 'northeast',
    'south-west': 'southwest',
    'south-east': 'southeast',
  }),
);

const BARE_HEX = /^([0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})$/;

type Reader = (text: string) => unknown;

const readers = new WeakMap<TObject, ReadonlyArray<readonly [name: string, read: Reader]>>();

/**
 * Parameters in the one spelling that the service stores, compares and runs: formats, places and colours in lower case
 * and by their own names, `True` and `False` as booleans. What has no other spelling stays as it was sent.
 */
function inOwnSpelling(contract: TObject, given: Given): Given {
  const changed = readersOf(contract).flatMap(([name, read]) => {
    const value = given[name];
    if (typeof value !== 'string') return [];
    const own = read(value);
    return own === value ? [] : [[name, own] as const];
  });
  return changed.length === 0 ? given : { ...given, ...Object.fromEntries(changed) };
}

/** The parameters of a deterministic op in their own spelling. A model gets its parameters as they were sent. */
export function parametersInOwnSpelling(op: Op, given: Given): Given {
  return op.kind === 'ai' ? given : inOwnSpelling(op.parameters, given);
}

/** A step as it is stored and compared. One of the registry, or one that will be refused, stays as it was sent. */
export function stepInOwnSpelling<S extends { op?: string; parameters?: Given }>(step: S): S {
  const op = step.op === undefined ? undefined : findOp(step.op);
  if (op === undefined || step.parameters === undefined) return step;
  const parameters = parametersInOwnSpelling(op, step.parameters);
  return parameters === step.parameters ? step : { ...step, parameters };
}

function readersOf(contract: TObject) {
  const known = readers.get(contract);
  if (known !== undefined) return known;
  const found = Object.entries(contract.properties).flatMap(([name, schema]) => {
    const read = readerOf(schema);
    return read === undefined ? [] : [[name, read] as const];
  });
  readers.set(contract, found);
  return found;
}

/** How text is read that has several spellings; undefined for a parameter whose text has one. */
function readerOf(schema: TSchema): Reader | undefined {
  if (schema.type === 'boolean') return readFlag;
  if (schema.format === 'css-color') return readColour;
  const words: unknown[] = schema.enum ?? [];
  if (words.includes('jpeg')) return formatInOwnSpelling;
  return words.includes('northwest') ? readPlace : undefined;
}

function readFlag(text: string): unknown {
  const word = text.toLowerCase();
  return word === 'true' ? true : word === 'false' ? false : text;
}

function readColour(text: string): string {
  const word = text.toLowerCase();
  return BARE_HEX.test(word) ? `#${word}` : word;
}

/** A format by its own name: `JPG`, `image/jpeg` and `jpeg` are jpeg. What is no format stays a word of lower case. */
export function formatInOwnSpelling(text: string): string {
  const word = text.toLowerCase().replace(/^image\//, '');
  return FORMATS.get(word) ?? word;
}

function readPlace(text: string): string {
  const word = text.toLowerCase().replaceAll(/[ _]/g, '-');
  return POSITIONS.get(word) ?? word;
}
