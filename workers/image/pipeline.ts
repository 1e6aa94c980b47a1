import sharp from 'sharp';
import { outputOf } from '../output.ts';
import type {
  Achieved,
  Decode,
  Encode,
  Failure,
  OutputFormat,
  Pass,
  Step,
  Transformed,
  TransformTask,
} from '../protocol.ts';
import { isBare } from './bare-file.ts';
import {
  type CarriedBlocks,
  type CarriedFile,
  type CarriedProfile,
  pixelsWithMetadata,
  profileOf,
  readyBlocks,
  withMetadata,
  withTags,
} from './carried-metadata.ts';
import { colourOf, isGreyColour, type Rgba, TRANSPARENT, WHITE } from './colour.ts';
import { hasHardColourEdges } from './colour-edges.ts';
import {
  assertEncodable,
  canBeTransparent,
  contentTypeOf,
  encodeWith,
  type Motion,
  type Settings,
} from './encoder.ts';
import { exactPaletteOf, shows } from './exact-palette.ts';
import { argumentFailure, failureOf, TooLate } from './failure.ts';
import { type Chosen, chooseFrames, chosenPage, openOptions, readSource, type Source } from './input.ts';
import { layersOf } from './layers.ts';
import { withNamedColours } from './named-colours.ts';
import { operationNamed, type StepOperation } from './operations/index.ts';
import type { PassContext } from './operations/operation.ts';
import { Picture } from './picture.ts';
import { withoutBulkyTexts } from './png-guard.ts';
import { withProfileChunks } from './png-profiles.ts';
import { inProfile } from './profile-colours.ts';
import { keepPromise, type Original, type Written } from './promise.ts';
import { invalid } from './refusal.ts';
import { withStillBrand } from './still-brand.ts';
import { restoreDelays } from './webp-delays.ts';

/** A pass on its way: every choice is made, and the picture goes from stage to stage. */
interface Work {
  task: TransformTask;
  steps: PlannedStep[];
  encode: Encode & { format: OutputFormat };
  source: Source;
  chosen: Chosen;
  /** What of the file's metadata goes along. */
  carried: CarriedBlocks;
  profile: CarriedProfile;
  picture: Picture;
  /** Colour under transparent pixels; undefined where the output can be transparent. */
  ground: Rgba | undefined;
  context: PassContext;
}

const NO_BLOCKS: CarriedBlocks = { exif: false, others: false };
/** Keys that do not change the encoding: with only these the original may be returned. */
const BESIDE_SETTINGS = ['format', 'metadata', 'background', 'promise'];
/** What sharp accepts. */
const LONGEST_DELAY_MS = 65_535;

interface PlannedStep {
  operation: StepOperation;
  params: Step['params'];
  /** Where it stands in the pass, for failures. */
  index: number;
}

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
    const { written, achieved, processedMs } = await encode(work);
    return {
      kind: 'transformed',
      data: written.data,
      contentType: contentTypeOf(work.encode.format),
      width: written.info.width,
      height: written.info.height / picture.frames,
      ...(achieved !== undefined && { achieved }),
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
  const profile = profileOf(source, wanted, [
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
    context: { sharp, fill, layer: layersOf(task) },
  };
}

/** The input without what costs more than it weighs, and with its metadata where it can be carried from. */
function readied(input: Uint8Array<ArrayBuffer>, { metadata }: Encode): Uint8Array<ArrayBuffer> {
  const safe = withoutBulkyTexts(input);
  return metadata === 'keep' ? withProfileChunks(safe) : safe;
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

/** The input's own format where it can be written. */
function writableFormat(format: string): OutputFormat {
  switch (format) {
    case 'jpeg':
    case 'png':
    case 'webp':
    case 'gif':
    case 'tiff':
      return format;
    case 'heif':
      // AV1 is the one codec of the HEIF family that is read.
      return 'avif';
    default:
      return 'png';
  }
}

function backgroundsOf(encode: Work['encode']): { ground: Rgba | undefined; fill: Rgba } {
  const asked = encode.background === undefined ? undefined : colourOf(encode.background, 'background');
  if (canBeTransparent(encode)) return { ground: undefined, fill: asked ?? TRANSPARENT };
  const ground = { ...(asked ?? WHITE), alpha: 1 };
  return { ground, fill: ground };
}

/** @throws TooLate when nobody waits for the answer any more. */
function secondsLeft(deadlineMs: number): number {
  const leftMs = deadlineMs - Date.now();
  if (leftMs <= 0) throw new TooLate();
  return Math.min(3600, Math.ceil(leftMs / 1000));
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
  if (steps.every(({ operation }) => operation.commutesWithFlatten)) picture.flattenAnytime(ground);
}

async function runSteps({ steps, picture, context }: Work): Promise<void> {
  for (const { operation, params, index } of steps) {
    await picture.settle();
    if (!operation.commutesWithFlatten) await picture.makePlain();
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

async function encode(work: Work): Promise<{ written: Written; achieved?: Achieved; processedMs: number }> {
  const { task, encode, source, chosen, carried, profile, picture } = work;
  assertEncodable(encode, picture);
  const file: CarriedFile = { input: task.input, source, chosen, policy: encode.metadata, carried, profile };
  const finish = async ({ data, info }: Written): Promise<Written> => {
    if (encode.format === 'webp' && picture.frames > 1) restoreDelays(data, source.delays ?? []);
    const tagged = await withTags(data, encode.format, file);
    return { data: tagged, info: { ...info, size: tagged.byteLength } };
  };
  const { promise } = encode;
  if (staysGrey(work)) await picture.writeGrey();
  if (staysDeep(work)) picture.writeDeep();
  const write = async (settings: Settings & { format: OutputFormat }) =>
    outputOf(encodeWith(await withMetadata(picture, file), settings, motionOf(source, picture), picture));
  if (promise === undefined) {
    const written =
      (await writtenIndexed(work, write)) ?? (await write({ ...encode, ...(await chromaFor(work)) }));
    return { written: await finish(written), processedMs: performance.now() };
  }
  const pixels = await picture.pixels();
  const processedMs = performance.now();
  const prepare = async () =>
    (await pixelsWithMetadata(pixels, file, picture.writtenIn)).timeout({
      seconds: secondsLeft(task.deadlineMs),
    });
  // The picture is out of its file only now, and needs its delays and its loop.
  const motion = motionOf(source, picture);
  const kept = await keepPromise({
    pixels,
    encode: { ...encode, promise },
    motion,
    original: originalOf(work),
    deadlineMs: task.deadlineMs,
    prepare,
    finish,
  });
  return { ...kept, processedMs };
}

/** Formats that have room for a single channel. */
const GREY_FORMATS: readonly OutputFormat[] = ['jpeg', 'png', 'tiff'];

/** Whether the result is grey and can be written as such. A profile that is kept is one of RGB. */
function staysGrey({ encode, source, steps }: Work): boolean {
  if (!GREY_FORMATS.includes(encode.format) || encode.metadata === 'keep') return false;
  if (!isGreyColour(encode.background)) return false;
  return steps.reduce(
    (wasGrey, { operation, params }) => operation.greyAfter(wasGrey, params),
    source.isGrey,
  );
}

/** Whether 16 bits can be written. */
function staysDeep({ encode, source }: Work): boolean {
  const { format, quality, palette, colors, promise } = encode;
  if (!source.is16Bit || promise !== undefined) return false;
  return format === 'png'
    ? palette === undefined && colors === undefined
    : format === 'tiff' && quality === undefined;
}

/** Formats of drawings and screens, beside photographs; other pictures have lost their hard edges already. */
const DRAWN_FORMATS: readonly string[] = ['png', 'gif', 'raw'];

/** Fine colours for a lossy file of a picture whose colours have hard edges, where nobody said how fine they shall be. */
async function chromaFor({ encode, source, picture }: Work): Promise<Encode> {
  const { format, chroma, lossless } = encode;
  const isCoarse = (format === 'jpeg' || format === 'avif') && chroma === undefined && lossless !== true;
  if (!isCoarse || picture.writtenIn !== undefined || !DRAWN_FORMATS.includes(source.format)) return {};
  return hasHardColourEdges(await picture.pixels()) ? { chroma: '4:4:4' } : {};
}

/** A PNG of few colours stays one by number where the steps added none; undefined where that is not so. */
async function writtenIndexed(
  { source, encode, picture }: Work,
  write: (settings: Settings & { format: 'png' }) => Promise<Written>,
): Promise<Written | undefined> {
  const { format, palette, colors } = encode;
  if (!source.isIndexed || format !== 'png' || palette !== undefined || colors !== undefined)
    return undefined;
  const pixels = await picture.pixels();
  const exact = exactPaletteOf(pixels);
  const written = exact && (await write({ ...encode, format, ...exact }));
  return written !== undefined && (await shows(written.data, pixels)) ? written : undefined;
}

/** The input of a pass that asks for nothing but a smaller file of the same format; undefined for any other. */
function originalOf({ task, steps, encode, source, chosen }: Work): Original | undefined {
  const { input } = task;
  const isSame = writableFormat(source.format) === encode.format && chosen.count === source.frames;
  const asksMore = Object.keys(encode).some((key) => !BESIDE_SETTINGS.includes(key));
  if (task.raw !== undefined || steps.length > 0 || !isSame || asksMore) return undefined;
  const bytes = input.byteLength;
  // Kept metadata too loses its previews, which only a file that is written anew does.
  if (source.oriented || !isBare(input, encode.format)) return { bytes };
  const info = { width: source.width, height: source.height * source.frames, size: bytes };
  // A copy: the thread frees the input once the pass is done.
  return { bytes, file: { data: input.slice(), info } };
}

/** An animation plays on as it did: raw pixels carry neither delays nor a loop. */
function motionOf({ delays, loop }: Source, picture: Picture): Motion {
  if (picture.frames === 1 || picture.fromFile) return {};
  const delay = delays?.map((delayMs) => Math.min(delayMs, LONGEST_DELAY_MS));
  return { ...(delay !== undefined && { delay }), ...(loop !== undefined && { loop }) };
}
