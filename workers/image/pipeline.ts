import sharp from 'sharp';
import {
  isLateFailure,
  isOutdoneFailure,
  type OperationStep,
  type PassWarning,
  type TaskFailure,
  type TransformTask,
  type TransformTaskResult,
} from '../protocol.ts';
import { parseColour, TRANSPARENT, WHITE } from './colour/colour.ts';
import { convertColoursToProfile } from './colour/profile-colours.ts';
import { hasSrgbProfile } from './colour/srgb-profile.ts';
import { alphaLevelsOfOutput, assertEncodable, canBeTransparent, contentTypeOf } from './encode/encoder.ts';
import { type ChosenFrames, chooseFrames } from './frames.ts';
import {
  createLayerReader,
  decodeKeptFrames,
  type InputFacts,
  readChosenPageFacts,
  readInputFacts,
  sharpOptionsFor,
} from './input.ts';
import { type CarriedProfile, carriedProfileOf, prepareCarriedBlocks } from './metadata/carried-metadata.ts';
import { withRawProfilesAsChunks } from './metadata/png.ts';
import { findStepOperation, unreadSettingsOf } from './operations/index.ts';
import { PassPicture } from './picture.ts';
import { alphaLevelsIn, type Pixels, type Rgba } from './pixels/pixels.ts';
import { makeFileReadable } from './readable.ts';
import { asArgumentRefusal, invalidParamRefusal, secondsLeft, taskFailureOf } from './refusal.ts';
import type { WrittenFile } from './search/encodings.ts';
import { onlyMovesOrAveragesPixels, type PassWork, type PlannedStep, writableFormatFor } from './work.ts';
import { isResultGrey, writePassResult } from './writing.ts';

/**
 * Runs one pass: one decode, the steps in order, one encode.
 * @returns the file, or a failure as plain data without the codec's own messages.
 */
export async function performTransformTask(
  task: TransformTask,
  canBeKilled = false,
): Promise<TransformTaskResult | TaskFailure> {
  const result = await attemptTransform(task, canBeKilled);
  // The image header that came with the task may be wrong. A failure counts only if the pass also fails with the header
  // that the thread reads.
  if (result.kind === 'transformed' || task.header === undefined || isMeasuredFailure(result)) return result;
  const { header: _, ...unhinted } = task;
  return attemptTransform(unhinted, canBeKilled);
}

/**
 * Whether a pass failed for a reason that the header cannot explain: its time was over, or a search has encoded the
 * picture. The same work would fail again.
 */
export function isMeasuredFailure(failure: TaskFailure): boolean {
  const isTried = failure.doableShare !== undefined || failure.details?.reached !== undefined;
  return isTried || isLateFailure(failure) || isOutdoneFailure(failure);
}

async function attemptTransform(
  task: TransformTask,
  canBeKilled: boolean,
): Promise<TransformTaskResult | TaskFailure> {
  const opened = await openPass(task, canBeKilled);
  return 'picture' in opened ? runPass(opened) : opened;
}

/**
 * Opens the picture of a pass.
 * @param readFile makes the file readable for libvips.
 */
export async function openPass(
  task: TransformTask,
  canBeKilled: boolean,
  readFile: typeof makeFileReadable = makeFileReadable,
): Promise<PassWork | TaskFailure> {
  try {
    return { ...(await openPassWork(task, readFile)), canBeKilled };
  } catch (error) {
    return taskFailureOf(error, true);
  }
}

/**
 * Runs an opened pass, and writes its result.
 * @param runSteps runs the steps of the pass.
 */
export async function runPass(
  work: PassWork,
  runSteps: (work: PassWork) => Promise<void> = runAllSteps,
): Promise<TransformTaskResult | TaskFailure> {
  const { task, source, picture, context, decodeMs } = work;
  const openedMs = performance.now();
  try {
    await runSteps(work);
    await flattenBeforeEncode(work);
    const { written, achieved, warnings: writing = [], processedMs } = await writePassResult(work);
    // After a failure, another pipeline may still read the pixels, so they are not freed.
    if (!work.leavesWork) picture.freePixels();
    const { hashes } = context.sideResults;
    const warnings = [
      ...(work.chosen.droppedWarning ? [work.chosen.droppedWarning] : []),
      ...context.sideResults.warnings,
      ...writing,
      ...(work.carried.isIncomplete ? [{ code: 'metadata_dropped' } as const] : []),
      ...unreadSettingWarnings(work),
      ...largerThanInputWarnings(work, task, written),
    ];
    return {
      kind: 'transformed',
      data: written.data,
      contentType: contentTypeOf(work.encode.format),
      width: written.info.width,
      height: written.info.height / picture.frames,
      ...(achieved !== undefined && { achieved }),
      ...(hashes !== undefined && { hashes }),
      ...(warnings.length > 0 && { warnings }),
      ...(source.isDeep && { bitDepth: picture.isDeep ? 16 : 8 }),
      timings: { decodeMs, processMs: processedMs - openedMs, encodeMs: performance.now() - processedMs },
      ...leavesWorkField(work),
    };
  } catch (error) {
    return { ...taskFailureOf(error, picture.fromFile), ...leavesWorkField(work) };
  }
}

function leavesWorkField({ leavesWork }: PassWork): Pick<PassWork, 'leavesWork'> {
  return leavesWork ? { leavesWork } : {};
}

/** Warnings about settings that the format of the input, in which the result is written, does not read. */
function unreadSettingWarnings({ task, encode }: PassWork): PassWarning[] {
  const { encode: requested } = task.pass;
  if (requested.format !== undefined) return [];
  return unreadSettingsOf(encode.format, requested).map((name) => ({ code: 'no_effect', name }));
}

/** Reads the header, makes every choice that the pass leaves open, and opens the chosen frames. */
async function openPassWork(
  sent: TransformTask,
  readFile: typeof makeFileReadable,
): Promise<Omit<PassWork, 'canBeKilled'>> {
  const startedMs = performance.now();
  const { decode, encode: requested } = sent.pass;
  const page = typeof decode.frame === 'number' ? decode.frame : 0;
  const keepsProfile = requested.metadata === 'keep';
  const { input, formerFormat, isHdr, isConverted } = await readFile(sent.input, {
    ...sent,
    page,
    keepsProfile,
  });
  const strips = requested.metadata === undefined || requested.metadata === 'strip' || sent.raw !== undefined;
  const task = { ...sent, input: strips ? input : withRawProfilesAsChunks(input) };
  const planned = planSteps(task.pass.steps);
  const file = await readInputFacts(task, keepsProfile);
  // An input that was converted to a 16-bit PNG only for reading is not written with 16 bits.
  if (formerFormat !== undefined) file.is16Bit = false;
  const output = { ...requested, format: requested.format ?? formerFormat ?? writableFormatFor(file.format) };
  assertEncodable(output);
  const canBeAnimated = planned.every(({ operation }) => operation.frames !== 'first');
  const chosen = chooseFrames(decode, file, { canBeAnimated, outputFormat: output.format });
  const source = await readChosenPageFacts(file, task.input, chosen);
  const isGrey = isResultGrey({ source, encode: output, steps: planned });
  const profile = carriedProfileOf(source, output, isGrey, [
    ...planned.map(({ operation, params }) => operation.profile(params)),
    // The profile of an HDR input is used for reading only.
    ...(isHdr ? (['srgb'] as const) : []),
  ]);
  const painting = { steps: planned, encode: output };
  const { steps, encode } = await withProfileColours(painting, source, profile);
  const carried = await prepareCarriedBlocks(task.input, {
    header: file.header,
    policy: encode.metadata,
    format: source.format,
    outputFormat: encode.format,
    page: chosen.first,
    isAnimated: chosen.count > 1,
    movesPixels: steps.length > 0 || source.orientation > 1,
    hidesContent: steps.some(({ operation }) => operation.hidesContent),
  });
  const keepsNumbers = profile === 'own' || hasSrgbProfile(task.input);
  const picture = await openPicture(task, source, chosen, keepsNumbers);
  const { ground, fill } = backgroundColoursOf(encode);
  return {
    task,
    steps,
    encode,
    source,
    isConverted,
    chosen,
    carried,
    profile,
    picture,
    ground,
    decodeMs: performance.now() - startedMs,
    context: { sharp, fill, layer: createLayerReader(task), sideResults: { warnings: [] } },
  };
}

/**
 * The picture of the chosen frames. Frames that do not follow each other are decoded immediately, because a pipeline
 * reads only a range of frames.
 */
async function openPicture(
  task: TransformTask,
  source: InputFacts,
  chosen: ChosenFrames,
  ignoreIcc: boolean,
): Promise<PassPicture> {
  const timeout = () => secondsLeft(task.deadlineMs);
  if (chosen.kept !== undefined)
    return PassPicture.fromPixels(
      await decodeKeptFrames(task.input, chosen.kept, source, ignoreIcc, timeout),
      timeout,
    );
  const pipeline = sharp(task.input, sharpOptionsFor(task, chosen, ignoreIcc));
  const isPlain = source.isRgb && !source.isDeep;
  const mustTurnUpright = source.orientation > 1 && chosen.count === 1;
  return new PassPicture(pipeline, { ...source, isPlain, mustTurnUpright, frames: chosen.count }, timeout);
}

/** Warns that the result is a larger file than the input, although it shows the same picture in no more pixels. */
function largerThanInputWarnings(
  { source, steps }: PassWork,
  { raw, input }: TransformTask,
  { data, info }: WrittenFile,
): PassWarning[] {
  const isSame = raw === undefined && steps.every(onlyMovesOrAveragesPixels);
  const isEnlarged = info.width * info.height > source.width * source.height * source.frames;
  const grew = data.byteLength > input.byteLength;
  return isSame && !isEnlarged && grew ? [{ code: 'larger_than_input' }] : [];
}

function planSteps(steps: readonly OperationStep[]): PlannedStep[] {
  return steps.map(({ operation: name, params }, index) => {
    const operation = findStepOperation(name);
    if (operation === undefined)
      throw invalidParamRefusal(`steps[${index}].operation`, `"${name}" is not an operation on a picture.`);
    return { operation, params, index };
  });
}

type StepsAndEncode = Pick<PassWork, 'steps' | 'encode'>;

/** The steps, with their colours converted to the ICC profile that the pixels keep. */
async function withProfileColours(
  painting: StepsAndEncode,
  { header }: InputFacts,
  profile: CarriedProfile,
): Promise<StepsAndEncode> {
  const { steps, encode } = painting;
  const texts = [...steps.flatMap(colourArgumentsOf).map(([, text]) => text), encode.background ?? []].flat();
  if (profile !== 'own' || header?.icc === undefined || texts.length === 0) return painting;
  const converted = await convertColoursToProfile(texts, header.icc);
  const convertedOf = (text: string) => converted.get(text) ?? text;
  return {
    steps: steps.map((step) => {
      const colours = colourArgumentsOf(step).map(([name, text]) => [name, convertedOf(text)]);
      return { ...step, params: { ...step.params, ...Object.fromEntries(colours) } };
    }),
    encode: {
      ...encode,
      ...(encode.background !== undefined && { background: convertedOf(encode.background) }),
    },
  };
}

/**
 * The CSS colours among the arguments of a step, by name. Absent arguments are left out, because their defaults are
 * black or white.
 */
function colourArgumentsOf({ operation, params }: PlannedStep): [string, string][] {
  return Object.entries(params).filter(
    (argument): argument is [string, string] =>
      typeof argument[1] === 'string' && operation.parameters.properties[argument[0]]?.format === 'css-color',
  );
}

function backgroundColoursOf(encode: PassWork['encode']): { ground: Rgba | undefined; fill: Rgba } {
  const requested =
    encode.background === undefined ? undefined : parseColour(encode.background, 'background');
  if (canBeTransparent(encode)) return { ground: undefined, fill: requested ?? TRANSPARENT };
  const ground = { ...(requested ?? WHITE), alpha: 1 };
  return { ground, fill: mustKeepAlpha(encode) ? TRANSPARENT : ground };
}

/** Whether transparent pixels become white because the format has no alpha and the caller has named no background. */
function flattensOnDefaultWhite({ ground, encode }: PassWork): boolean {
  return ground !== undefined && encode.background === undefined && !mustKeepAlpha(encode);
}

function mustKeepAlpha({ keepsAlpha, background }: PassWork['encode']): boolean {
  return keepsAlpha === true && background === undefined;
}

async function runAllSteps(work: PassWork): Promise<void> {
  convertDeepToSrgb(work);
  await startUpright(work);
  await applySteps(work, work.steps);
}

/** Converts 16-bit pictures with a profile to sRGB, because sharp would convert them to Display P3. */
function convertDeepToSrgb({ picture, source, profile }: PassWork): void {
  if (source.isDeep && source.hasProfile && profile !== 'own') picture.convertToSrgb();
}

/**
 * Prepares the picture of a pass for its first step. A still picture is opened upright: sharp turns it by its EXIF
 * orientation as part of the first pipeline, so that a JPEG or WebP can still be shrunk while it is decoded.
 */
export async function startUpright(work: PassWork): Promise<void> {
  const { picture, source, ground } = work;
  if (picture.frames > 1 && source.orientation > 1) await picture.turnFrames(source.orientation);
  if (ground !== undefined && isFlattenedEarly(work)) picture.flattenAnytime(ground);
}

/**
 * Whether the picture is flattened before its steps, because three channels are less work than four. This requires that
 * every step commutes with flattening, and that nothing searches the result for transparency. A JPEG has no
 * transparency.
 */
function isFlattenedEarly(work: PassWork): boolean {
  const { source, ground, steps, encode } = work;
  if (ground === undefined || source.format === 'jpeg' || mustKeepAlpha(encode)) return false;
  if (source.hasAlpha && flattensOnDefaultWhite(work)) return false;
  return steps.every(({ operation, params }) => operation.commutesWithFlatten(params));
}

export async function applySteps(
  { picture, context }: PassWork,
  steps: readonly PlannedStep[],
): Promise<void> {
  for (const { operation, params, index } of steps) {
    await picture.computeExactSize();
    if (!operation.commutesWithFlatten(params)) await picture.convertToPlainPixels();
    const apply = (one: PassPicture) => operation.apply(one, params, context);
    const done =
      picture.frames > 1 && operation.frames === 'each' ? picture.eachFrame(apply) : apply(picture);
    await done.catch((error: unknown) => {
      throw asArgumentRefusal(error, `steps[${index}].params`, operation, params);
    });
  }
}

async function flattenBeforeEncode(work: PassWork): Promise<void> {
  const { picture, ground, encode, context } = work;
  if (!picture.hasAlpha) return;
  if (mustKeepAlpha(encode)) assertAlphaKept(await picture.pixels(), encode);
  if (ground === undefined) return;
  if (flattensOnDefaultWhite(work) && alphaLevelsIn(await picture.pixels()) > 1)
    context.sideResults.warnings.push({ code: 'alpha_lost' });
  (await picture.at('flatten')).flatten({ background: ground });
  picture.hasAlpha = false;
}

/** @throws PassRefusal on `format` if the pixels have more levels of alpha than the output format can hold. */
function assertAlphaKept(pixels: Pixels, encode: PassWork['encode']): void {
  if (alphaLevelsIn(pixels) <= alphaLevelsOfOutput(encode)) return;
  const message = `A ${encode.format} cannot keep the transparency of this picture: name another format, or send background, the colour to lay it on.`;
  throw invalidParamRefusal('format', message);
}
