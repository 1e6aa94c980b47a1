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
 * Normalizes the spelling of parameters for storing, comparing and running: formats, positions and colours in lower
 * case and by their main names, `True` and `False` as booleans. All other values stay as sent.
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

/** Normalizes the parameters of a deterministic op. A model gets its parameters as sent. */
export function parametersInOwnSpelling(op: Op, given: Given): Given {
  return op.kind === 'ai' ? given : inOwnSpelling(op.parameters, given);
}

/** Normalizes a step for storing and comparing. A registry step, and one that will be refused, stays as sent. */
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

/** The function that normalizes a parameter's text; undefined for a parameter with a single spelling. */
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

/** The main name of a format: `JPG`, `image/jpeg` and `jpeg` are jpeg. Any other text is put in lower case. */
export function formatInOwnSpelling(text: string): string {
  const word = text.toLowerCase().replace(/^image\//, '');
  return FORMATS.get(word) ?? word;
}

function readPlace(text: string): string {
  const word = text.toLowerCase().replaceAll(/[ _]/g, '-');
  return POSITIONS.get(word) ?? word;
}
