import { isDeepStrictEqual } from 'node:util';
import { losslessImpossibleReason } from '../../../../workers/image/encode/encoder.ts';
import {
  FRAME_SELECTORS,
  isAnimationFormat,
  parseFrameRange,
  selectsOneFrame,
} from '../../../../workers/image/frames.ts';
import { findStepOperation, type Layer, layersOf } from '../../../../workers/image/operations/index.ts';
import type { DecodeOptions, EncodeOptions, ImagePass } from '../../../../workers/protocol.ts';
import { encodeOptionsPerFormat } from '../../../imaging/images/formats.ts';
import type { SentField, SentFieldFinder } from '../../../platform/http/errors/errors.ts';
import { withoutAbsentFields } from '../../../platform/values/present.ts';
import type { Model } from '../../models/models.ts';
import type { AiOp, GivenParameters, PassFragment, PixelOp } from '../op.ts';

/** A deterministic step of a list, checked and compiled. */
export interface DeterministicStep {
  runs: 'pass';
  /** The index in the list as sent, from 0. */
  index: number;
  /** The op; absent for an operation of the registry. */
  op?: PixelOp;
  /** The parameters of the op by their canonical names, or the arguments of the registry operation. */
  parameters: GivenParameters;
  fragment: PassFragment;
  findField: SentFieldFinder;
}

/** A step that runs a model. It is a segment by itself. */
export interface AiStep {
  runs: 'model';
  index: number;
  op: AiOp;
  /** The model that the step names, or else the op's default model. */
  model: Model;
  /** The prompt as sent. Mentions of subjects are not replaced yet. */
  prompt?: string;
  parameters: GivenParameters;
  /** JSON Schema of the answer; absent if an image is made. */
  schema?: GivenParameters;
  findField: SentFieldFinder;
}

export type CompiledStep = DeterministicStep | AiStep;

/**
 * Adjacent deterministic steps as one pass. Instead of being returned, its result may be compared with another image,
 * or passed to a reader of text or codes.
 */
export interface CompiledPass extends Pick<PassFragment, 'compareWith' | 'isScored' | 'reads'> {
  runs: 'pass';
  steps: readonly DeterministicStep[];
  pass: ImagePass;
  /** The assets that its steps read besides the input. */
  layers: Layer[];
}

/** A segment of a list: a pass, or a step that runs a model. */
export type CompiledSegment = CompiledPass | AiStep;

/**
 * Divides a list of steps into segments.
 * @throws ApiError invalid_param on the parameter that conflicts with an earlier step of its pass.
 */
export function splitIntoSegments(steps: readonly CompiledStep[]): CompiledSegment[] {
  const segments: (AiStep | DeterministicStep[])[] = [];
  for (const step of steps) {
    const open = segments.at(-1);
    if (step.runs === 'model') segments.push(step);
    else if (Array.isArray(open)) open.push(step);
    else segments.push([step]);
  }
  return segments.map((segment) => (Array.isArray(segment) ? mergePass(segment) : segment));
}

/**
 * Joins adjacent deterministic steps into one pass. The encoder settings of a later step override those of an earlier
 * one. The settings for reading the input and for metadata must not conflict.
 * @throws ApiError invalid_param on the parameter that conflicts with an earlier step.
 */
export function mergePass(steps: readonly DeterministicStep[]): CompiledPass {
  const decode: DecodeOptions = Object.assign({}, ...steps.map(({ fragment }) => fragment.decode));
  const encode = steps.map(({ fragment }) => fragment.encode).reduce(mergeEncodeOptions, {});
  refuseConflictingSettings(steps);
  refuseConflictingFrameChoices(steps);
  refuseUnusableFrames(steps, decode, encode);
  refuseLosslessInLossy(steps, encode);
  const pass = { decode, steps: steps.flatMap(({ fragment }) => fragment.steps), encode };
  const layers = layersOf(pass.steps);
  const { compareWith, isScored, reads } = steps.at(-1)?.fragment ?? {};
  return { runs: 'pass', steps, pass, layers, ...withoutAbsentFields({ compareWith, isScored, reads }) };
}

/** The field of a call that holds an argument of a deterministic step. */
export function fieldOfArgument({ op, findField }: DeterministicStep, key: string): SentField {
  return findField(op === undefined ? 'params' : `parameters.${key}`);
}

/** Matches a step of the pass in a worker's error, where steps count from 0. */
const PASS_STEP_PATTERN = /^steps\[(\d+)\]/;

/**
 * Finds the parameter of the call to which a worker's error about a pass refers. If the error names a step, the
 * parameter is one of that step. Otherwise it belongs to the last step that sent it, because later steps override
 * earlier ones. If no step sent it, the error refers to the whole work.
 */
export function findSentParameter(
  steps: readonly DeterministicStep[],
  passParam: string,
  whole = 'steps',
): string {
  const counted = PASS_STEP_PATTERN.exec(passParam)?.[1];
  const name = passParam.split('.').at(-1) ?? passParam;
  const sender =
    counted === undefined
      ? steps.findLast(({ parameters }) => name in parameters)
      : steps.flatMap((step) => step.fragment.steps.map(() => step))[Number(counted)];
  const step = sender ?? singleOpStep(steps);
  return step === undefined ? whole : sentFieldOfArgument(step, name).param;
}

/**
 * The step, if it is the only one and runs an op. Errors then name a parameter of this op even if the parameter was not
 * sent.
 */
function singleOpStep([step, ...others]: readonly DeterministicStep[]): DeterministicStep | undefined {
  return others.length === 0 && step?.op !== undefined ? step : undefined;
}

/** The field of the call that becomes an argument of a step, preferably one that was sent. */
function sentFieldOfArgument({ op, parameters, findField }: DeterministicStep, argument: string): SentField {
  if (op === undefined) return findField(`params.${argument}`);
  const names = [argument, ...(op.renamed[argument] ?? [])];
  const name =
    names.find((known) => known in parameters) ?? names.find((known) => known in op.parameters.properties);
  return findField(name === undefined ? 'op' : `parameters.${name}`);
}

/**
 * Overrides earlier encoder settings by later ones. A change of the format drops the earlier settings, except metadata,
 * background and the target of a compression, which apply to any format.
 */
function mergeEncodeOptions(earlier: EncodeOptions, later: EncodeOptions): EncodeOptions {
  const [before, after] = [outputFormatsOf(earlier), outputFormatsOf(later)];
  const isKept = before.length === 0 || after.length === 0 || isDeepStrictEqual(before, after);
  if (isKept) return { ...earlier, ...later };
  const { metadata, background, target } = earlier;
  return { ...withoutAbsentFields({ metadata, background, target }), ...later };
}

/** The formats that the result may have; empty if it keeps the format of the input. */
function outputFormatsOf(encode: EncodeOptions): string[] {
  return encodeOptionsPerFormat(encode).flatMap(({ format }) => format ?? []);
}

const SINGLE_VALUE_SETTINGS = ['frame', ...FRAME_SELECTORS, 'density', 'metadata'] as const;

/** Refuses a step that gives a different value to a setting which the pass can have only once. */
function refuseConflictingSettings(steps: readonly DeterministicStep[]): void {
  const firstValues = new Map<string, unknown>();
  for (const step of steps) {
    const { decode, encode } = step.fragment;
    const values = { ...decode, metadata: encode.metadata };
    for (const key of SINGLE_VALUE_SETTINGS) {
      const value = values[key];
      if (value === undefined) continue;
      const first = firstValues.get(key) ?? value;
      firstValues.set(key, first);
      if (first === value || (key === 'frame' && normalizeFrame(first) === normalizeFrame(value))) continue;
      const message = `${key} is ${value}, but an earlier step of the same pass says ${first}: the pass has one ${key}, give one value.`;
      throw fieldOfArgument(step, key).refuse(message);
    }
  }
}

/** Converts `first` to the frame index 0, so that both spellings are equal. Other values are returned unchanged. */
function normalizeFrame(frame: unknown): unknown {
  return frame === 'first' ? 0 : frame;
}

/** Refuses steps that choose both a single frame and several frames, and frame ranges that end before they begin. */
function refuseConflictingFrameChoices(steps: readonly DeterministicStep[]): void {
  const frame = steps.map(({ fragment }) => fragment.decode.frame).find((one) => one !== undefined);
  for (const step of steps) {
    const { decode } = step.fragment;
    const key = FRAME_SELECTORS.find((name) => decode[name] !== undefined);
    if (key === undefined) continue;
    if (frame !== undefined && frame !== 'all') {
      const message = `frame is ${frame}, and ${key} stands in place of it: send one of them.`;
      throw fieldOfArgument(step, key).refuse(message);
    }
    const [first, last] = parseFrameRange(decode.frames) ?? [0, 0];
    if (first <= last) continue;
    const message = `frames is ${decode.frames}, but a range begins with its first frame: send ${last}..${first}.`;
    throw fieldOfArgument(step, 'frames').refuse(message);
  }
}

/** Refuses several frames for a format that is not animated, or with a step that handles only one frame. */
function refuseUnusableFrames(
  steps: readonly DeterministicStep[],
  decode: DecodeOptions,
  encode: EncodeOptions,
): void {
  const step = steps.find(({ fragment }) => framesParameterOf(fragment.decode) !== undefined);
  const key = step && framesParameterOf(step.fragment.decode);
  if (step === undefined || key === undefined || selectsOneFrame(decode)) return;
  const { refuse } = fieldOfArgument(step, key);
  const several = `${key} is ${step.fragment.decode[key]}`;
  const still = outputFormatsOf(encode).find((format) => !isAnimationFormat(format));
  if (still !== undefined) {
    throw refuse(
      `${several}, but the pass writes ${still}, which holds one picture: write gif or webp, or take one frame.`,
    );
  }
  const maker = steps
    .flatMap(({ fragment }) => fragment.steps)
    .find(({ operation }) => findStepOperation(operation)?.frames === 'first');
  if (maker === undefined) return;
  throw refuse(
    `${several}, but ${maker.operation} makes one picture of the first frame: leave it out, or take one frame.`,
  );
}

/** The parameter by which a step requests several frames. */
function framesParameterOf(decode: DecodeOptions): 'frame' | (typeof FRAME_SELECTORS)[number] | undefined {
  return decode.frame === 'all' ? 'frame' : FRAME_SELECTORS.find((name) => decode[name] !== undefined);
}

/**
 * Refuses `lossless` for a lossy format. When the format changes, the settings of the previous format are dropped. The
 * remaining settings were therefore sent for this format.
 */
function refuseLosslessInLossy(steps: readonly DeterministicStep[], encode: EncodeOptions): void {
  const [lossy] = encodeOptionsPerFormat(encode).flatMap((one) => losslessImpossibleReason(one) ?? []);
  const step = steps.findLast(({ fragment }) => fragment.encode.lossless === true);
  if (lossy === undefined || step === undefined) return;
  const message = `lossless is true, but ${lossy}: have the pass write webp, avif or png.`;
  throw fieldOfArgument(step, 'lossless').refuse(message);
}
