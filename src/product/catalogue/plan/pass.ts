import { isDeepStrictEqual } from 'node:util';
import { FRAME_SELECTORS, rangeOf, selectsOneFrame } from '../../../../workers/image/frames.ts';
import { operationNamed } from '../../../../workers/image/operations/index.ts';
import { lossyReason } from '../../../../workers/image/operations/parameter.ts';
import type { Decode, Encode, Pass } from '../../../../workers/protocol.ts';
import { encodesOf } from '../../../imaging/images/formats.ts';
import { type ApiError, invalidParam } from '../../../platform/http/errors/errors.ts';
import type { SentField } from '../../../platform/http/errors/sent-field.ts';
import { present } from '../../../platform/values/present.ts';
import type { AiOp, Fragment, Given, PixelOp } from '../op.ts';
import { isStill } from '../pass-parameters.ts';
import { layersOf } from '../registry.ts';
import type { FieldsOf } from './sent-step.ts';
import type { PresetStep } from './step.ts';

/** A deterministic step of a list, checked and compiled. */
export interface DeterministicStep {
  kind: 'deterministic';
  /** The index in the list as sent, from 0. */
  index: number;
  /** Absent for an operation of the processing registry. */
  op?: PixelOp;
  /** The parameters of the op in their main spelling, or those of the operation. */
  parameters: Given;
  fragment: Fragment;
  at: FieldsOf;
}

/** A step that runs a model. It divides the list into segments. */
export interface AiStep {
  kind: 'ai';
  index: number;
  op: AiOp;
  /** The id of the model: the named one, else the op's default. */
  model: string;
  /** As sent: subjects are not yet expanded. */
  prompt?: string;
  parameters: Given;
  /** JSON Schema of the answer; absent if an image is made. */
  schema?: Given;
  at: FieldsOf;
}

export type CompiledStep = DeterministicStep | AiStep;

/** Adjacent deterministic steps form one process pass; each AI step is its own segment. */
export function segmentsOf<S extends Pick<CompiledStep, 'kind'>>(steps: readonly S[]): S[][] {
  const segments: S[][] = [];
  for (const step of steps) {
    const open = segments.at(-1);
    if (step.kind === 'deterministic' && open?.[0]?.kind === 'deterministic') open.push(step);
    else segments.push([step]);
  }
  return segments;
}

/** The steps of a segment that are one pass; none for a segment that runs a model. */
export function deterministicIn(segment: readonly CompiledStep[]): DeterministicStep[] {
  return segment.filter((step) => step.kind === 'deterministic');
}

/** A list that runs as one pass on one image, while its caller waits. */
interface OnePass {
  pass: Pass;
  steps: readonly DeterministicStep[];
  obstacle?: never;
}

/** What a step does whose second picture the call does not bring. */
export const READS_SECOND = 'reads a second asset';

/** The first step that cannot run. `does` completes the sentence "has a step that …". */
export interface Obstacle {
  obstacle: { does: 'runs a model' | 'answers JSON' | typeof READS_SECOND; step: CompiledStep };
}

/**
 * The plan of a synchronous call: the single pass of a compiled list, or the step that cannot run in one.
 * @param layers the ids of the second pictures that the call brings.
 */
export function onePassOf(
  compiled: readonly CompiledStep[],
  layers: readonly string[] = [],
): OnePass | Obstacle {
  const steps: DeterministicStep[] = [];
  for (const step of compiled) {
    if (step.kind === 'ai') return { obstacle: { does: 'runs a model', step } };
    const { reads, compareWith, steps: operations } = step.fragment;
    if (reads !== undefined || compareWith !== undefined) return { obstacle: { does: 'answers JSON', step } };
    if (layersOf(operations).some(({ assetId }) => !layers.includes(assetId)))
      return { obstacle: { does: READS_SECOND, step } };
    steps.push(step);
  }
  return { pass: mergePass(steps).pass, steps };
}

/**
 * The single pass of steps, and what is done with its result instead of returning it.
 * @throws ApiError invalid_param on the parameter that conflicts with an earlier step.
 */
export function mergePass(steps: readonly DeterministicStep[]): MergedPass {
  const merged = mergeFragments(steps.map(({ fragment }) => fragment));
  if (merged.conflict === undefined) return merged;
  const { index, key, message } = merged.conflict;
  const step = steps[index];
  throw step === undefined ? new Error(message) : argumentOf(step, key).refuse(message);
}

/** The field with an argument of a deterministic step. */
export function argumentOf({ op, at }: DeterministicStep, key: string): SentField {
  return at(op === undefined ? 'params' : `parameters.${key}`);
}

/** Counts the steps of the pass from 0, as a refusal of the worker does. */
const STEP_OF_PASS = /^steps\[(\d+)\]/;

/**
 * The parameter of the call behind a parameter of its pass, which a refusal of the worker names: of the step that the
 * refusal counts, else of the last step that sent it, which overrides the earlier ones, else of the whole work.
 */
export function sentParamOf(steps: readonly DeterministicStep[], passParam: string, whole = 'steps'): string {
  const counted = STEP_OF_PASS.exec(passParam)?.[1];
  const name = passParam.split('.').at(-1) ?? passParam;
  const sender =
    counted === undefined
      ? steps.findLast(({ parameters }) => name in parameters)
      : steps.flatMap((step) => step.fragment.steps.map(() => step))[Number(counted)];
  const step = sender ?? onlyOp(steps);
  return step === undefined ? whole : fieldBehind(step, name).param;
}

/** The step of a list of one op, whose parameter it is although it was not sent. */
function onlyOp([step, ...others]: readonly DeterministicStep[]): DeterministicStep | undefined {
  return others.length === 0 && step?.op !== undefined ? step : undefined;
}

/** The field after an argument of a step, preferably one that was sent. */
function fieldBehind({ op, parameters, at }: DeterministicStep, argument: string): SentField {
  if (op === undefined) return at(`params.${argument}`);
  const names = [argument, ...(op.renamed[argument] ?? [])];
  const name =
    names.find((known) => known in parameters) ?? names.find((known) => known in op.parameters.properties);
  return at(name === undefined ? 'op' : `parameters.${name}`);
}

/** The refusal of a preset that does not run while its caller waits. @param param names the preset in the call. */
export function presetRefusal(
  { does }: Obstacle['obstacle'],
  steps: readonly PresetStep[],
  param: string,
): ApiError {
  const message = `The preset has a step that ${does}, so it runs only as a job: send it to POST /api/v1/jobs`;
  if (does !== READS_SECOND) return invalidParam(param, `${message}.`);
  return invalidParam(param, `${message}, or send its steps as steps of this call.`, {
    instead: [{ steps }],
  });
}

/** A step that cannot join the pass: `index` is its position in the fragments, `key` the conflicting parameter. */
interface Conflict {
  index: number;
  key: 'frame' | (typeof FRAME_SELECTORS)[number] | 'density' | 'metadata' | 'lossless';
  message: string;
}

/** A pass, and what is done with its result instead of returning it. */
interface MergedPass extends Pick<Fragment, 'compareWith' | 'isScored' | 'reads'> {
  pass: Pass;
  conflict?: never;
}

type Merged = MergedPass | { conflict: Conflict; pass?: never };

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
  const { compareWith, isScored, reads } = fragments.at(-1) ?? {};
  return { pass, ...present({ compareWith, isScored, reads }) };
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
    for (const key of ['frame', ...FRAME_SELECTORS, 'density', 'metadata'] as const) {
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
    const key = FRAME_SELECTORS.find((name) => decode[name] !== undefined);
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
function severalBy(decode: Decode): 'frame' | (typeof FRAME_SELECTORS)[number] | undefined {
  return decode.frame === 'all' ? 'frame' : FRAME_SELECTORS.find((name) => decode[name] !== undefined);
}

function makesOnePicture(name: string): boolean {
  const operation = operationNamed(name);
  return operation?.kind === 'step' && operation.frames === 'first';
}

/** Settings of another format have been removed before; the rest were sent without a format. */
function losslessInLossy(fragments: readonly Fragment[], encode: Encode): Conflict | undefined {
  const [lossy] = encodesOf(encode).flatMap((one) => lossyReason(one) ?? []);
  if (lossy === undefined) return undefined;
  const index = fragments.findLastIndex(({ encode }) => encode.lossless === true);
  const message = `lossless is true, but ${lossy}: have the pass write webp, avif or png.`;
  return { index, key: 'lossless', message };
}
