import sharp from 'sharp';
import type {
  Decode,
  Encode,
  Failure,
  Pass,
  PassWarning,
  Step,
  Transformed,
  TransformTask,
} from '../protocol.ts';
import { colourOf, type Rgba, TRANSPARENT, WHITE } from './colour/colour.ts';
import { withNamedColours } from './colour/named-colours.ts';
import { inProfile } from './colour/profile-colours.ts';
import { assertEncodable, canBeTransparent, contentTypeOf } from './encode/encoder.ts';
import { staysGrey, writeResult } from './encode/writing.ts';
import { argumentFailure, failureOf } from './failure.ts';
import { chooseFrames, chosenPage, openOptions, readSource, type Source } from './input.ts';
import { layersOf } from './layers.ts';
import {
  type CarriedBlocks,
  type CarriedProfile,
  profileOf,
  readyBlocks,
} from './metadata/carried-metadata.ts';
import { withoutBulkyTexts } from './metadata/png-guard.ts';
import { withProfileChunks } from './metadata/png-profiles.ts';
import { operationNamed } from './operations/index.ts';
import { Picture } from './picture.ts';
import { invalid } from './refusal.ts';
import type { Written } from './search/target.ts';
import { withStillBrand } from './still-brand.ts';
import { isSamePicture, type PlannedStep, secondsLeft, type Work, writableFormat } from './work.ts';

const NO_BLOCKS: CarriedBlocks = { exif: false, others: false };

/**
 * What happens to a picture once it is open, in this order. It is opened upright: sharp turns it by its EXIF orientation
 * as part of the first pipeline, so that a JPEG or WebP can still be shrunk while it is decoded.
 */
const STAGES: readonly ((work: Work) => void | Promise<void>)[] = [
  convertColours,
  flattenEarly,
  runSteps,
  flattenLate,
];

/**
 * Runs one pass: decode once, the steps in order, encode once.
 * @returns the file, or a failure as plain data that tells nothing in the codec's own words.
 */
export async function transform(task: TransformTask): Promise<Transformed | Failure> {
  const result = await attempt(task);
  // The sender's reading of the header may have been wrong: a failure stands only when our own reading comes to it as well.
  if (result.kind === 'transformed' || task.header === undefined) return result;
  const { header: _, ...unhinted } = task;
  return attempt(unhinted);
}

async function attempt(task: TransformTask): Promise<Transformed | Failure> {
  const startedMs = performance.now();
  let picture: Picture | undefined;
  try {
    const work = await open(task);
    picture = work.picture;
    const openedMs = performance.now();
    for (const stage of STAGES) await stage(work);
    const { written, achieved, processedMs } = await writeResult(work);
    const { source, picture: made } = work;
    const { hashes } = work.context.found;
    const warnings = [...work.context.found.warnings, ...sizeWarnings(work, task, written)];
    return {
      kind: 'transformed',
      data: written.data,
      contentType: contentTypeOf(work.encode.format),
      width: written.info.width,
      height: written.info.height / picture.frames,
      ...(achieved !== undefined && { achieved }),
      ...(hashes !== undefined && { hashes }),
      ...(warnings.length > 0 && { warnings }),
      ...(source.isDeep && { bitDepth: made.isDeep ? 16 : 8 }),
      timings: {
        decodeMs: openedMs - startedMs,
        processMs: processedMs - openedMs,
        encodeMs: performance.now() - processedMs,
      },
    };
  } catch (error) {
    return failureOf(error, picture?.fromFile ?? true);
  }
}

/** Reads the header, makes every choice that the pass leaves open, and opens the chosen frames. */
async function open(sent: TransformTask): Promise<Work> {
  const { decode, encode: asked } = foldSettings(sent.pass);
  const colours = await withNamedColours(
    withStillBrand(sent.input),
    sent.raw === undefined ? sent.cicp : undefined,
  );
  const task = sent.raw === undefined ? { ...sent, input: readied(colours.input, asked) } : sent;
  const planned = planSteps(task.pass.steps);
  const file = await readSource(task, asked.metadata === 'keep');
  // What became a PNG of 16 bits only to be read right is not written as one.
  if (colours.was !== undefined) file.is16Bit = false;
  const wanted = { ...asked, format: asked.format ?? colours.was ?? writableFormat(file.format) };
  assertEncodable(wanted);
  const canMove = planned.every(({ operation }) => operation.frames !== 'first');
  const chosen = chooseFrames(decode.frame, file, canMove, wanted.format);
  const source = await chosenPage(file, task.input, chosen);
  const isGrey = staysGrey({ source, encode: wanted, steps: planned });
  const profile = profileOf(source, wanted, isGrey, [
    ...planned.map(({ operation, params }) => operation.profile?.(params)),
    // The profile is one to read by.
    ...(colours.isHdr ? (['srgb'] as const) : []),
  ]);
  const { steps, encode } = await paintable({ steps: planned, encode: wanted }, task, source, profile);
  const keepsBlocks = encode.metadata === 'keep' && task.raw === undefined;
  const conceals = steps.some(({ operation }) => operation.conceals);
  const carried = keepsBlocks ? await readyBlocks(task.input, conceals) : NO_BLOCKS;
  const pipeline = sharp(task.input, openOptions(task, chosen, profile === 'own'));
  const isPlain = source.isRgb && !source.isDeep;
  const picture = new Picture(pipeline, { ...source, isPlain, frames: chosen.count }, () =>
    secondsLeft(task.deadlineMs),
  );
  const { ground, fill } = backgroundsOf(encode);
  return {
    task,
    steps,
    encode,
    source,
    chosen,
    carried,
    profile,
    picture,
    ground,
    context: { sharp, fill, layer: layersOf(task), found: { warnings: [] } },
  };
}

/** The input without what costs more than it weighs, and with its metadata where it can be carried from. */
function readied(input: Uint8Array<ArrayBuffer>, { metadata }: Encode): Uint8Array<ArrayBuffer> {
  const safe = withoutBulkyTexts(input);
  return metadata === 'keep' ? withProfileChunks(safe) : safe;
}

/** A file that grew, though it shows the same picture in no more pixels. */
function sizeWarnings(
  { source, chosen, steps }: Work,
  { raw, input }: TransformTask,
  { data, info }: Written,
): PassWarning[] {
  const isSame = raw === undefined && chosen.count === source.frames && steps.every(isSamePicture);
  const isEnlarged = info.width * info.height > source.width * source.height * source.frames;
  const grew = data.byteLength > input.byteLength;
  return isSame && !isEnlarged && grew ? [{ code: 'larger_than_input' }] : [];
}

/** Presets may say how to read and to write in steps: what comes later wins. */
function foldSettings({ decode, steps, encode }: Pass): { decode: Decode; encode: Encode } {
  const said = steps.map(({ operation: name, params }) => {
    const operation = operationNamed(name);
    return operation?.kind === 'setting' ? operation.settings(params) : {};
  });
  return {
    decode: Object.assign({}, decode, ...said.map((part) => part.decode)),
    encode: Object.assign({}, encode, ...said.map((part) => part.encode)),
  };
}

function planSteps(steps: readonly Step[]): PlannedStep[] {
  return steps.flatMap(({ operation: name, params }, index) => {
    const operation = operationNamed(name);
    if (operation === undefined) throw invalid(`steps[${index}].operation`, `"${name}" is no operation.`);
    return operation.kind === 'step' ? [{ operation, params, index }] : [];
  });
}

type Painting = Pick<Work, 'steps' | 'encode'>;

/** The steps, with their colours in the numbers that the pixels stay in: those of the profile that goes with them. */
async function paintable(
  painting: Painting,
  { input }: TransformTask,
  source: Source,
  profile: CarriedProfile,
): Promise<Painting> {
  const { steps, encode } = painting;
  const texts = [...steps.flatMap(coloursOf).map(([, text]) => text), encode.background ?? []].flat();
  if (profile !== 'own' || !source.hasProfile || texts.length === 0) return painting;
  const { icc } = await sharp(input, { failOn: 'error', limitInputPixels: false }).metadata();
  if (icc === undefined) return painting;
  const said = await inProfile(texts, icc);
  const again = (text: string) => said.get(text) ?? text;
  return {
    steps: steps.map((step) => {
      const colours = coloursOf(step).map(([name, text]) => [name, again(text)]);
      return { ...step, params: { ...step.params, ...Object.fromEntries(colours) } };
    }),
    encode: { ...encode, ...(encode.background !== undefined && { background: again(encode.background) }) },
  };
}

/** The CSS colours among the arguments of a step, by name; one with a default that is left out is none: those are black or white. */
function coloursOf({ operation, params }: PlannedStep): [string, string][] {
  return Object.entries(params).filter(
    (argument): argument is [string, string] =>
      typeof argument[1] === 'string' && operation.parameters.properties[argument[0]]?.format === 'css-color',
  );
}

function backgroundsOf(encode: Work['encode']): { ground: Rgba | undefined; fill: Rgba } {
  const asked = encode.background === undefined ? undefined : colourOf(encode.background, 'background');
  if (canBeTransparent(encode)) return { ground: undefined, fill: asked ?? TRANSPARENT };
  const ground = { ...(asked ?? WHITE), alpha: 1 };
  return { ground, fill: ground };
}

/** sharp takes 16-bit pictures with a profile to Display P3; this brings them back to sRGB. */
function convertColours({ picture, source, profile }: Work): void {
  if (source.isDeep && source.hasProfile && profile !== 'own') picture.convertToSrgb();
}

/**
 * Where every step makes the same of a flattened picture, three channels are less work than four. What is flat already
 * loses nothing by it; only a JPEG is known to be.
 */
function flattenEarly({ picture, source, ground, steps }: Work): void {
  if (ground === undefined || source.format === 'jpeg') return;
  if (steps.every(({ operation, params }) => operation.commutesWithFlatten(params)))
    picture.flattenAnytime(ground);
}

async function runSteps({ steps, picture, context }: Work): Promise<void> {
  for (const { operation, params, index } of steps) {
    await picture.settle();
    if (!operation.commutesWithFlatten(params)) await picture.makePlain();
    const apply = (one: Picture) => operation.apply(one, params, context);
    const done =
      picture.frames > 1 && operation.frames === 'each' ? picture.eachFrame(apply) : apply(picture);
    await done.catch((error: unknown) => {
      throw argumentFailure(error, `steps[${index}].params`, operation, params);
    });
  }
}

async function flattenLate({ picture, ground }: Work): Promise<void> {
  if (ground === undefined || !picture.hasAlpha) return;
  (await picture.at('flatten')).flatten({ background: ground });
  picture.hasAlpha = false;
}
