import { isDeepStrictEqual } from 'node:util';
import { rangeOf, SELECTING, selectsOneFrame } from '../../../workers/image/frames.ts';
import { operationNamed } from '../../../workers/image/operations/index.ts';
import { lossyWriter } from '../../../workers/image/operations/parameter.ts';
import type { Decode, Encode, Pass } from '../../../workers/protocol.ts';
import { encodesOf } from '../../imaging/images/formats.ts';
import type { Reading } from '../../imaging/readers/reading.ts';
import { present } from '../../platform/values/present.ts';
import type { Fragment } from './op.ts';
import { isStill } from './pass-parameters.ts';

/** A step that cannot join the pass: `index` is its position in the fragments, `key` the conflicting parameter. */
export interface Conflict {
  index: number;
  key: 'frame' | (typeof SELECTING)[number] | 'density' | 'metadata' | 'lossless';
  message: string;
}

export type Merged =
  | { pass: Pass; compareWith?: string; reads?: Reading; conflict?: never }
  | { conflict: Conflict; pass?: never };

/**
 * Joins adjacent deterministic steps into one pass. A later step's encoder settings win over an earlier one's; but the
 * settings for reading the input and for metadata must not conflict.
 */
export function mergeFragments(fragments: readonly Fragment[]): Merged {
  const encode = fragments.map((fragment) => fragment.encode).reduce(overrule, {});
  const conflict =
    firstTwoValued(fragments) ??
    framesTwice(fragments) ??
    allFrames(fragments, encode) ??
    losslessInLossy(fragments, encode);
  if (conflict !== undefined) return { conflict };
  const pass: Pass = {
    decode: Object.assign({}, ...fragments.map((fragment) => fragment.decode)),
    steps: fragments.flatMap((fragment) => fragment.steps),
    encode,
  };
  const { compareWith, reads } = fragments.at(-1) ?? {};
  return { pass, ...present({ compareWith, reads }) };
}

/**
 * A change of the format drops encoder settings of the earlier one; metadata, background and the target of a
 * compression apply to any format.
 */
function overrule(earlier: Encode, later: Encode): Encode {
  const changed =
    isFormatSet(earlier) && isFormatSet(later) && !isDeepStrictEqual(formatsOf(earlier), formatsOf(later));
  if (!changed) return { ...earlier, ...later };
  const { metadata, background, target } = earlier;
  return { ...present({ metadata, background, target }), ...later };
}

function isFormatSet({ format, formats }: Encode): boolean {
  return format !== undefined || formats !== undefined;
}

/** The formats that the result may have. */
function formatsOf(encode: Encode): string[] {
  return encodesOf(encode).flatMap(({ format }) => format ?? []);
}

function firstTwoValued(fragments: readonly Fragment[]): Conflict | undefined {
  const seen = new Map<Conflict['key'], unknown>();
  for (const [index, { decode, encode }] of fragments.entries()) {
    const values = { ...decode, metadata: encode.metadata };
    for (const key of ['frame', ...SELECTING, 'density', 'metadata'] as const) {
      const value = values[key];
      if (value === undefined) continue;
      const first = seen.get(key) ?? value;
      seen.set(key, first);
      if (isSame(key, first, value)) continue;
      const message = `${key} is ${value}, but an earlier step of the same pass says ${first}: the pass has one ${key}, give one value.`;
      return { index, key, message };
    }
  }
  return undefined;
}

/** The first frame can be given by its name or by its index. */
function isSame(key: Conflict['key'], one: unknown, other: unknown): boolean {
  const plain = (value: unknown) => (key === 'frame' && value === 'first' ? 0 : value);
  return plain(one) === plain(other);
}

/** One frame and a choice of several exclude each other, and a range has its first frame first. */
function framesTwice(fragments: readonly Fragment[]): Conflict | undefined {
  const { frame } = fragments.find(({ decode }) => decode.frame !== undefined)?.decode ?? {};
  for (const [index, { decode }] of fragments.entries()) {
    const key = SELECTING.find((name) => decode[name] !== undefined);
    if (key === undefined) continue;
    if (frame !== undefined && frame !== 'all') {
      const message = `frame is ${frame}, and ${key} stands in place of it: send one of them.`;
      return { index, key, message };
    }
    const [first, last] = rangeOf(decode.frames) ?? [0, 0];
    if (first <= last) continue;
    const message = `frames is ${decode.frames}, but a range begins with its first frame: send ${last}..${first}.`;
    return { index, key: 'frames', message };
  }
  return undefined;
}

/** Several frames need an animated format, and steps that support each frame. */
function allFrames(fragments: readonly Fragment[], encode: Encode): Conflict | undefined {
  const merged: Decode = Object.assign({}, ...fragments.map((fragment) => fragment.decode));
  const index = fragments.findIndex(({ decode }) => severalBy(decode) !== undefined);
  const { decode = {} } = fragments[index] ?? {};
  const key = severalBy(decode);
  if (key === undefined || selectsOneFrame(merged)) return undefined;
  const still = formatsOf(encode).find(isStill);
  if (still !== undefined) {
    const message = `${key} is ${decode[key]}, but the pass writes ${still}, which holds one picture: write gif or webp, or take one frame.`;
    return { index, key, message };
  }
  const maker = fragments.flatMap(({ steps }) => steps).find(({ operation }) => makesOnePicture(operation));
  if (maker === undefined) return undefined;
  const message = `${key} is ${decode[key]}, but ${maker.operation} makes one picture of the first frame: leave it out, or take one frame.`;
  return { index, key, message };
}

/** The parameter by which a step asks for several frames. */
function severalBy(decode: Decode): 'frame' | (typeof SELECTING)[number] | undefined {
  return decode.frame === 'all' ? 'frame' : SELECTING.find((name) => decode[name] !== undefined);
}

function makesOnePicture(name: string): boolean {
  const operation = operationNamed(name);
  return operation?.kind === 'step' && operation.frames === 'first';
}

/** Settings of another format have been removed before; the rest were sent without a format. */
function losslessInLossy(fragments: readonly Fragment[], encode: Encode): Conflict | undefined {
  const [lossy] = encodesOf(encode).flatMap((one) => lossyWriter(one) ?? []);
  if (lossy === undefined) return undefined;
  const index = fragments.findLastIndex(({ encode }) => encode.lossless === true);
  const message = `lossless is true, but ${lossy}: have the pass write webp, avif or png.`;
  return { index, key: 'lossless', message };
}
