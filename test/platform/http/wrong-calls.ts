import { isJsonObject } from '../../../src/platform/values/json.ts';

/** Right calls, and mistakes in them as people make them, by a generator that repeats itself. */

export type Values = Record<string, unknown>;

/** A call before it is sent: lists and objects of a query or a form are sent as JSON text. */
export interface Call {
  /** Absent: POST. */
  method?: string;
  path: string;
  query: Values;
  /** Absent: the body is an image. */
  json?: Values;
  form?: Values;
}

export interface Correction {
  param: string;
  in?: 'query' | 'body' | 'header' | 'part' | 'request';
  rename?: string;
  replace?: unknown;
  add?: unknown;
  remove?: true;
  decode?: 'base64' | 'data-url';
}

/** Numbers from 0 to 1 (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** Fields that a mistake may concern, and the object that holds the op beside them, if it is another one. */
interface Place {
  fields: Values;
  owner?: Values;
}

function placesIn(call: Call): Place[] {
  const roots = [call.json, call.form].filter((root) => root !== undefined);
  const nested = roots.flatMap(({ steps = [], outputs = [], variants = [] }) =>
    [...(steps as Values[]), ...(outputs as Values[]), ...(variants as Values[])].flatMap((one) => [
      ...(isJsonObject(one.parameters)
        ? [{ fields: one.parameters, ...('op' in one && { owner: one }) }]
        : []),
      ...((one.steps ?? []) as Values[]).map((step) => ({ fields: step.parameters as Values, owner: step })),
    ]),
  );
  const own = roots.flatMap((root): Place[] =>
    isJsonObject(root.parameters) ? [{ fields: root.parameters, owner: root }] : [{ fields: root }],
  );
  return [{ fields: call.query }, ...own, ...nested];
}

/** Names that stay: they decide how the call is read. */
const KEPT = [
  'dryRun',
  'assetId',
  'assetIds',
  'steps',
  'outputs',
  'variants',
  'parameters',
  'name',
  'html',
  'op',
  'text',
];

type Mistake = (place: Place, name: string, random: () => number) => boolean;

const renamed = (fields: Values, name: string, other: string): boolean => {
  if (other === name || other in fields) return false;
  fields[other] = fields[name];
  delete fields[name];
  return true;
};

const swapped = (word: string, random: () => number): string => {
  const at = 1 + Math.floor(random() * (word.length - 2));
  return word.slice(0, at) + word.charAt(at + 1) + word.charAt(at) + word.slice(at + 2);
};

const replaced = (fields: Values, name: string, value: unknown): boolean => {
  fields[name] = value;
  return true;
};

const MISTAKES: Record<string, Mistake> = {
  'letters swapped': ({ fields }, name, random) =>
    name.length > 3 && renamed(fields, name, swapped(name, random)),
  'a letter missing': ({ fields }, name) =>
    name.length > 4 && renamed(fields, name, name.slice(0, -2) + name.slice(-1)),
  'another case': ({ fields }, name) =>
    renamed(
      fields,
      name,
      name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    ) || renamed(fields, name, name.toUpperCase()),
  'a unit': ({ fields }, name) => {
    const { [name]: value } = fields;
    if (typeof value !== 'number') return false;
    return replaced(fields, name, name === 'maxBytes' ? `${value / 1000}kB` : `${value}px`);
  },
  'a number out of form': ({ fields }, name, random) => {
    const { [name]: value } = fields;
    if (typeof value !== 'number') return false;
    const forms = [`${value.toExponential()}`, ` ${value}`, `+${value}`];
    return replaced(fields, name, forms[Math.floor(random() * forms.length)]);
  },
  'a misspelt word': ({ fields }, name, random) => {
    const { [name]: value } = fields;
    if (typeof value !== 'string' || !/^[a-z]{4,}$/.test(value)) return false;
    return replaced(fields, name, swapped(value, random));
  },
  'a word for a flag': ({ fields }, name) => {
    const { [name]: value } = fields;
    return typeof value === 'boolean' && replaced(fields, name, value ? 'yes' : 'off');
  },
  'beside the op': ({ fields, owner }, name) => {
    if (owner === undefined || name in owner) return false;
    owner[name] = fields[name];
    delete fields[name];
    return true;
  },
  'a misspelt op': ({ fields, owner = fields }, _name, random) =>
    typeof owner.op === 'string' && owner.op.length > 4 && replaced(owner, 'op', swapped(owner.op, random)),
  'an extra': ({ fields }) => replaced(fields, 'zzqx', 1),
};

/** Makes a mistake in a call. @returns its name; null if it was not possible. */
export function mistaken(call: Call, random: () => number): string | null {
  const places = placesIn(call);
  const place = places[Math.floor(random() * places.length)];
  const names = Object.keys(place?.fields ?? {}).filter((name) => !KEPT.includes(name));
  const name = names[Math.floor(random() * names.length)];
  const kinds = Object.entries(MISTAKES);
  const [kind = '', make] = kinds[Math.floor(random() * kinds.length)] ?? [];
  if (place === undefined || name === undefined || make === undefined) return null;
  return make(place, name, random) ? kind : null;
}

/** The call as it is sent: the values of a query and a form are texts. */
export function asSent({ query, form, ...call }: Call): Call {
  return { ...call, query: texts(query), ...(form && { form: texts(form) }) };
}

function texts(values: Values): Values {
  const text = (value: unknown) => (typeof value === 'object' ? JSON.stringify(value) : String(value));
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, text(value)]));
}

/** The call after the corrections, as a program makes them by what the documentation says of `details.fix`. */
export function correctedBy(sent: Call, fix: readonly Correction[]): Call {
  const call = structuredClone(sent);
  for (const { param, rename, in: place, ...correction } of fix) {
    const [first = ''] = partsOf(param);
    const isInQuery = place === undefined ? first in call.query || param in call.query : place === 'query';
    const isText = isInQuery || call.form !== undefined;
    const root = isInQuery ? call.query : (call.form ?? call.json ?? {});
    // The field itself may have a name with brackets.
    const path = param in root ? [param] : partsOf(param);
    const value = edit(root, path, isText, (holder, name, isTextHere) => {
      const { [name]: before } = holder;
      if ((before === undefined) !== 'add' in correction) throw new Error(`${param} cannot be corrected so.`);
      const { replace = correction.add } = correction;
      if (replace !== undefined) holder[name] = isTextHere ? texts({ value: replace }).value : replace;
      else delete holder[name];
      return before;
    });
    if (rename === undefined) continue;
    edit(root, partsOf(rename), isText, (holder, name) => {
      holder[name] = value;
      return value;
    });
  }
  return call;
}

function partsOf(path: string): string[] {
  return path.split(/[.[\]]+/).filter((part) => part !== '');
}

/** Edits the object with the last name of a path, and writes back the JSON text that the path leads through. */
function edit(
  root: Values,
  [name = '', ...rest]: readonly string[],
  isText: boolean,
  change: (holder: Values, name: string, isText: boolean) => unknown,
): unknown {
  if (rest.length === 0) return change(root, name, isText);
  const inner = isText ? JSON.parse(String(root[name] ?? '{}')) : (root[name] ?? {});
  const result = edit(inner, rest, false, change);
  root[name] = isText ? JSON.stringify(inner) : inner;
  return result;
}
