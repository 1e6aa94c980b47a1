import type { Size } from '../../../../workers/formats/size.ts';
import {
  animationEffort,
  animationSearchEffort,
  DEFAULT_EFFORT,
  defaultSearchEffort,
} from '../../../../workers/image/encode/effort.ts';
import { isAnimationFormat, parseFrameRange } from '../../../../workers/image/frames.ts';
import { findStepOperation } from '../../../../workers/image/operations/index.ts';
import { scalesOnLoad } from '../../../../workers/image/sizing.ts';
import type { EncodeOptions, ImagePass, OutputFormat } from '../../../../workers/protocol.ts';
import { MEGABYTE_BYTES } from '../../../platform/values/units.ts';
import type { ImageHeader } from '../header/facts.ts';
import {
  batchesWithSkippedFrames,
  displayedSizeOf,
  frameCountOf,
  type LayerHeaders,
  layerHeadersOf,
  resolvedEncodeOf,
  sizesAfterSteps,
} from './prediction.ts';

/*
 * CPU milliseconds per megapixel on one core, as measured over photographs and noise (sharp 0.35). The time of an
 * encoder depends on the picture, up to sevenfold for a palette, and these values are near the worst case. The
 * durations of a host correct them: see pools/work-history.ts.
 */

/** CPU milliseconds for opening a picture and sending the task to its worker. */
const PASS_BASE_MS = 5;
/** CPU milliseconds for each decoded frame or page, in addition to those for its pixels. */
const DECODE_MS_PER_FRAME = 5;
/** CPU milliseconds of the frames of an animation, without the encoding of their pixels. */
interface AnimationCost {
  decodeMsPerFrame: number;
  decodeMsPerMegapixel: number;
  writeMsPerFrame: number;
}
const ANIMATION_COSTS: Readonly<Record<string, AnimationCost>> = {
  gif: { decodeMsPerFrame: 0.05, decodeMsPerMegapixel: 20, writeMsPerFrame: 5 },
  webp: { decodeMsPerFrame: 0.3, decodeMsPerMegapixel: 60, writeMsPerFrame: 0.5 },
};
const DECODE_MS_PER_MEGAPIXEL: Readonly<Record<string, number>> = {
  jpeg: 12,
  png: 25,
  webp: 25,
  avif: 60,
  gif: 20,
  tiff: 20,
};
/** CPU milliseconds per megapixel to rewrite and decode a picture whose samples or colours libvips would misread. */
const SAMPLE_CONVERSION_MS_PER_MEGAPIXEL = 80;
/** CPU milliseconds per megapixel that a step reads but drops, as when it resizes to a smaller size. */
const READ_DROPPED_MS_PER_MEGAPIXEL = 5;
/** The factor by which decoding a progressive, interlaced or 16-bit file takes longer. */
const COSTLY_DECODE_FACTOR = 2;
/** CPU milliseconds per megapixel of a description. It reads all pixels once or twice, and examines a small copy. */
const DESCRIBE_MS_PER_MEGAPIXEL = 30;
/** CPU milliseconds per megapixel to decode and compare the result of a trial. SSIMULACRA 2 compares six sizes. */
const COMPARE_MS_PER_MEGAPIXEL = 60;
const SSIMULACRA2_MS_PER_MEGAPIXEL = 450;
/** The trials of a search, as counted with photographs: a quality is found in 3 to 5 trials, a palette in 4. */
const QUALITY_TRIALS = 4;
/**
 * The cost of a search over an animation, in trials of the whole animation. The search makes one or two of them, and
 * several cheaper trials of a short sample.
 */
const ANIMATION_TRIALS = 2.5;
const PALETTE_TRIALS = 4;
const LOSSLESS_TRIALS = 2;

type ResolvedEncode = EncodeOptions & { format: OutputFormat };
type EffortCost = readonly [effort: number, ms: number];
const NO_EFFORT_COST: EffortCost = [0, 0];

const PALETTE_MS_PER_MEGAPIXEL = byEffort({ 0: 450, 5: 1_600, 9: 3_200 });
const ENCODE_MS_PER_MEGAPIXEL: Readonly<Record<OutputFormat, readonly EffortCost[]>> = {
  jpeg: byEffort({ 0: 35, 4: 80, 6: 150, 9: 320 }),
  png: byEffort({ 0: 10, 3: 80, 6: 105, 9: 440 }),
  webp: byEffort({ 0: 60, 3: 90, 5: 190, 7: 220, 9: 640 }),
  avif: byEffort({ 1: 125, 4: 460, 7: 630, 9: 1_400 }),
  gif: PALETTE_MS_PER_MEGAPIXEL,
  tiff: byEffort({ 0: 105 }),
};
const LOSSLESS_MS_PER_MEGAPIXEL: Readonly<Partial<Record<OutputFormat, readonly EffortCost[]>>> = {
  webp: byEffort({ 0: 155, 5: 670, 9: 1_000 }),
  avif: byEffort({ 0: 430, 5: 900, 9: 1_600 }),
};
/**
 * The assumed effort of palettes and lossless files if the caller chose none. It is about the encoder's own default.
 */
const ASSUMED_FALLBACK_EFFORT = 5;
const ASSUMED_EFFORTS: Readonly<Partial<Record<OutputFormat, number>>> = { ...DEFAULT_EFFORT, png: 3 };
/** The effort of the AVIF encoder is limited for pictures of at least this size; see workers/image/encode/effort.ts. */
const MIN_LARGE_AVIF_MEGAPIXELS = 16;
const MIN_LARGE_LOSSLESS_AVIF_MEGAPIXELS = 4;

/** The costs as a list of efforts in rising order. The cost of an effort between two of them is interpolated. */
function byEffort(costsMs: Readonly<Record<number, number>>): EffortCost[] {
  return Object.entries(costsMs).map(([effort, ms]) => [Number(effort), ms]);
}

/**
 * Estimated CPU milliseconds of passes over one file, or of a description if there are no passes. The file is decoded
 * once for all passes that read the same pixels.
 * @param layers the second pictures. Each is decoded for each step that reads it.
 */
export function estimatedMs(
  header: ImageHeader,
  passes: readonly ImagePass[],
  layers: LayerHeaders = {},
): number {
  if (passes.length === 0) return decodingMs(header, 1) + (header.pixels / 1e6) * DESCRIBE_MS_PER_MEGAPIXEL;
  const readings =
    passes.length === 1 ? [passes] : Map.groupBy(passes, (pass) => decodingKeyOf(header, pass)).values();
  const decodings = Array.from(readings, (same) =>
    Math.max(...same.map((pass) => decodingMs(header, decodedFrameCount(header, pass)))),
  );
  const layerMs = passes.flatMap((pass) => layerHeadersOf(pass, layers).map((layer) => decodingMs(layer, 1)));
  return sum(decodings) + sum(layerMs) + sum(passes.map((pass) => stepsAndEncodingMs(header, pass)));
}

/** Estimated CPU milliseconds of a SSIMULACRA 2 score. */
export function estimatedScoringMs({ width, height }: Pick<ImageHeader, 'width' | 'height'>): number {
  return ((width * height) / 1e6) * SSIMULACRA2_MS_PER_MEGAPIXEL;
}

/** A key that is equal for all passes that read the same pixels; see workers/image/branches.ts. */
function decodingKeyOf(header: ImageHeader, pass: ImagePass): unknown {
  const { metadata, format } = resolvedEncodeOf(header, pass);
  const keepsFile =
    metadata === 'keep' ? header.format !== 'jpeg' : header.format !== 'svg' && /^(png|tiff)$/.test(format);
  const readsFile = keepsFile || header.bitDepth > 8 || (header.format === 'gif' && format === 'gif');
  if (readsFile || batchesWithSkippedFrames(header, pass) !== undefined) return pass;
  const [first] = pass.steps;
  const scaled = first && findStepOperation(first.operation)?.scalesTo(displayedSizeOf(header), first.params);
  const file = { ...header, ...displayedSizeOf(header) };
  return scaled && scalesOnLoad(file, scaled) ? JSON.stringify(first) : decodedFrameCount(header, pass);
}

function stepsAndEncodingMs(header: ImageHeader, pass: ImagePass): number {
  const megapixels = megapixelsOf(header, pass);
  const written = { frames: frameCountOf(header, pass), megapixels: megapixels.at(-1) ?? 0 };
  return stepsMs(pass, megapixels, usualStepMs) + encodingMs(resolvedEncodeOf(header, pass), written);
}

function sum(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/**
 * The number of frames that are decoded. A frame of a GIF or WebP is drawn over all frames before it, so decoding
 * always starts at the first frame.
 */
function decodedFrameCount(header: ImageHeader, pass: ImagePass): number {
  const { frame, frames } = pass.decode;
  if (isAnimationFormat(header.format) && typeof frame === 'number')
    return Math.min(frame + 1, header.frames);
  const batches = batchesWithSkippedFrames(header, pass);
  if (batches !== undefined) return batches.reduce((sum, { first, count }) => sum + first + count, 0);
  const [before] = parseFrameRange(frames) ?? [0];
  return before + frameCountOf(header, pass);
}

/** The estimated CPU time of decoding a number of frames, in milliseconds. */
function decodingMs(
  { format, progressive, bitDepth, pixels, frames, mustBeRewritten }: ImageHeader,
  framesRead: number,
): number {
  const cost = frames > 1 ? ANIMATION_COSTS[format] : undefined;
  if (cost !== undefined)
    return (
      PASS_BASE_MS +
      framesRead * (cost.decodeMsPerFrame + ((pixels / 1e6) * cost.decodeMsPerMegapixel) / frames)
    );
  const once = mustBeRewritten ? SAMPLE_CONVERSION_MS_PER_MEGAPIXEL : (DECODE_MS_PER_MEGAPIXEL[format] ?? 0);
  const perMegapixel = progressive || bitDepth > 8 ? once * COSTLY_DECODE_FACTOR : once;
  return (
    PASS_BASE_MS + framesRead * DECODE_MS_PER_FRAME + ((pixels / 1e6) * perMegapixel * framesRead) / frames
  );
}

/**
 * CPU milliseconds of the steps of a pass that libvips can divide among threads. Shrinking hardly counts, because the
 * decoder does most of it in one thread.
 */
export function estimatedDivisibleMs(header: ImageHeader, pass: ImagePass): number {
  const ofSmaller: StepCost = (perMegapixel, before, after) => perMegapixel * Math.min(before, after);
  return stepsMs(pass, megapixelsOf(header, pass), ofSmaller);
}

/** Megapixels of all frames, before the first step and after each. */
function megapixelsOf(header: ImageHeader, pass: ImagePass): number[] {
  const frames = frameCountOf(header, pass);
  return sizesAfterSteps(header, pass).map(({ width, height }) => (width * height * frames) / 1e6);
}

/** Milliseconds of a step, computed from its cost and the megapixels before and after it. */
type StepCost = (perMegapixel: number, before: number, after: number) => number;

/** The usual cost: a step computes the pixels of its result, and reads the pixels that it drops. */
const usualStepMs: StepCost = (perMegapixel, before, after) =>
  perMegapixel * after + READ_DROPPED_MS_PER_MEGAPIXEL * Math.max(0, before - after);

function stepsMs({ steps }: ImagePass, megapixels: readonly number[], cost: StepCost): number {
  return steps.reduce((total, { operation: name, params }, index) => {
    const operation = findStepOperation(name);
    if (operation === undefined) return total;
    const [before = 0, after = 0] = megapixels.slice(index, index + 2);
    return total + cost(operation.cpuMsPerMegapixel(params), before, after);
  }, 0);
}

/** The frames of a result, and the pixels of all of them together. */
interface WrittenPixels {
  frames: number;
  megapixels: number;
}

function encodingMs(encode: ResolvedEncode, written: WrittenPixels): number {
  const { frames, megapixels } = written;
  const framesMs = frames > 1 ? frames * (ANIMATION_COSTS[encode.format]?.writeMsPerFrame ?? 0) : 0;
  if (encode.target === undefined) {
    const animated = animationEffort(encode, written);
    return framesMs + megapixels * (animated?.cpuMsPerMegapixel ?? encodingMsPerMegapixel(encode, written));
  }
  const animated = encode.effort === undefined ? animationSearchEffort(encode.format, written) : undefined;
  const perMegapixel = Math.max(animated?.cpuMsPerMegapixel ?? 0, encodingMsPerMegapixel(encode, written));
  const once = framesMs + megapixels * perMegapixel;
  return trialCountOf(encode, written) * (once + megapixels * trialMeasuringMsPerMegapixel(encode.target));
}

function trialMeasuringMsPerMegapixel(target: NonNullable<EncodeOptions['target']>): number {
  if ('maxBytes' in target) return 0;
  return 'ssimulacra2' in target ? SSIMULACRA2_MS_PER_MEGAPIXEL : COMPARE_MS_PER_MEGAPIXEL;
}

function trialCountOf({ format, lossless }: ResolvedEncode, { frames }: WrittenPixels): number {
  if (lossless) return LOSSLESS_TRIALS;
  if (frames > 1) return ANIMATION_TRIALS;
  return format === 'png' || format === 'gif' ? PALETTE_TRIALS : QUALITY_TRIALS;
}

function encodingMsPerMegapixel(encode: ResolvedEncode, written: WrittenPixels): number {
  const points = effortCostsOf(encode);
  const { format, lossless, effort = defaultEffortOf(encode, written) } = encode;
  const largeAvif = lossless ? MIN_LARGE_LOSSLESS_AVIF_MEGAPIXELS : MIN_LARGE_AVIF_MEGAPIXELS;
  const kept = format === 'avif' && written.megapixels > largeAvif ? 0 : effort;
  const below = points.findLast(([known]) => known <= kept);
  const above = points.find(([known]) => known >= kept);
  const [low, lowMs] = below ?? above ?? NO_EFFORT_COST;
  const [high, highMs] = above ?? below ?? NO_EFFORT_COST;
  return high <= low ? lowMs : lowMs + ((highMs - lowMs) * (kept - low)) / (high - low);
}

/** Whether sending effort=0 would shorten the encoding. A search without a chosen effort lowers it by itself. */
export function canLowerEffort(header: ImageHeader, pass: ImagePass): boolean {
  const encode = resolvedEncodeOf(header, pass);
  if (encode.format === 'tiff' || (encode.target !== undefined && encode.effort === undefined)) return false;
  const written = { frames: frameCountOf(header, pass), megapixels: megapixelsOf(header, pass).at(-1) ?? 0 };
  const animated = animationEffort(encode, written);
  return (encode.effort ?? animated?.effort ?? defaultEffortOf(encode, written)) > 0;
}

/** The effort that the encoder uses if the caller chose none. */
function defaultEffortOf(
  { format, lossless, palette, colors, target }: ResolvedEncode,
  written: WrittenPixels,
): number {
  const searched = target && defaultSearchEffort(format, written);
  const isPalette = palette ?? colors !== undefined;
  return (
    searched ??
    (lossless || isPalette ? ASSUMED_FALLBACK_EFFORT : (ASSUMED_EFFORTS[format] ?? ASSUMED_FALLBACK_EFFORT))
  );
}

function effortCostsOf({ format, lossless, palette, colors, target }: ResolvedEncode): readonly EffortCost[] {
  const isPalette = palette ?? (colors !== undefined || target !== undefined);
  if (format === 'png' && isPalette) return PALETTE_MS_PER_MEGAPIXEL;
  return (lossless && LOSSLESS_MS_PER_MEGAPIXEL[format]) || ENCODE_MS_PER_MEGAPIXEL[format];
}

/*
 * Bytes per pixel, as measured with files of 25 megapixels (sharp 0.35, one thread). Decoding a JPEG, WebP or PNG
 * streams and takes next to nothing, an AVIF takes 18, and a progressive JPEG or an interlaced PNG 3. A rotation by any
 * angle takes 15, and every other operation that reads more than a line 3. Each encoder keeps its whole picture.
 */
const PASS_BASE_BYTES = 16 * MEGABYTE_BYTES;
const AVIF_DECODE_BYTES_PER_PIXEL = 18;
const DESCRIBE_BYTES_PER_PIXEL = 4;
/** The assumed bytes per pixel of a finished file. Most encoders write less. */
const FILE_BYTES_PER_PIXEL = 1;
const ENCODE_BYTES_PER_PIXEL: Readonly<Record<OutputFormat, number>> = {
  jpeg: 7,
  png: 6,
  webp: 15,
  avif: 35,
  gif: 5,
  tiff: 2,
};

/** The bytes per pixel of a second picture, which is decoded completely, with transparency. */
const LAYER_BYTES_PER_PIXEL = 4;

/**
 * The estimated peak of memory, in bytes, of passes that run over one file one after another. Without passes, it is the
 * peak of a description of the file.
 * @param layers the second pictures that the passes read.
 */
export function estimatedMemoryBytes(
  header: ImageHeader,
  passes: readonly ImagePass[],
  layers: LayerHeaders = {},
): number {
  if (passes.length === 0)
    return PASS_BASE_BYTES + decodeMemoryBytesOf(header) + header.pixels * DESCRIBE_BYTES_PER_PIXEL;
  const peak = Math.max(...passes.map((pass) => peakBytes(header, pass) + largestLayerBytes(pass, layers)));
  return passes.length === 1 ? peak : peak + bytesHeldBesidePass(header, passes);
}

/**
 * The bytes that are held beside the running one of several passes over a file: the shared picture, the finished files,
 * and the pictures of searches that wait while another format is tried.
 */
function bytesHeldBesidePass(header: ImageHeader, passes: readonly ImagePass[]): number {
  const files = passes.map((pass) => {
    const { width, height } = sizesAfterSteps(header, pass).at(-1) ?? header;
    const waiting = pass.formatGroup === undefined ? 0 : bytesPerPixel(header);
    return width * height * frameCountOf(header, pass) * (FILE_BYTES_PER_PIXEL + waiting);
  });
  const frames = Math.max(...passes.map((pass) => frameCountOf(header, pass)));
  const shared = header.width * header.height * frames * bytesPerPixel(header);
  return shared + sum(files);
}

function peakBytes(header: ImageHeader, pass: ImagePass): number {
  const decode = PASS_BASE_BYTES + decodeMemoryBytesOf(header);
  const skipping = frameSelectionBytes(header, pass);
  const sizes = sizesAfterSteps(header, pass);
  const last = sizes.at(-1) ?? header;
  const encode = last.width * last.height * ENCODE_BYTES_PER_PIXEL[resolvedEncodeOf(header, pass).format];
  return decode + skipping + peakCopyBytes(header, pass, sizes) + encode;
}

/** The bytes of the largest second picture while it is decoded. Second pictures are processed one at a time. */
function largestLayerBytes(pass: ImagePass, layers: LayerHeaders): number {
  const each = layerHeadersOf(pass, layers).map(
    (layer) => decodeMemoryBytesOf(layer) + layer.width * layer.height * LAYER_BYTES_PER_PIXEL,
  );
  return Math.max(0, ...each);
}

function decodeMemoryBytesOf(header: ImageHeader): number {
  if (header.format === 'avif') return header.pixels * AVIF_DECODE_BYTES_PER_PIXEL;
  // A picture that is rewritten is held three times: as its samples, as its pixels, and as a file.
  if (header.mustBeRewritten) return 3 * header.pixels * bytesPerPixel(header);
  return header.progressive ? header.pixels * bytesPerPixel(header) : 0;
}

/**
 * The memory in bytes of a pass that keeps only some frames of a range. The pass holds the batch that is being decoded
 * and the kept frames, which exist twice while they are joined.
 */
function frameSelectionBytes(header: ImageHeader, pass: ImagePass): number {
  const batches = batchesWithSkippedFrames(header, pass);
  if (batches === undefined) return 0;
  const largest = Math.max(...batches.map(({ count }) => count));
  return header.width * header.height * bytesPerPixel(header) * (2 * frameCountOf(header, pass) + largest);
}

function bytesPerPixel({ channels, bitDepth }: ImageHeader): number {
  return Math.max(3, channels) * Math.max(1, bitDepth / 8);
}

/** The most bytes of pixel copies that exist at the same time between decoding and encoding. */
function peakCopyBytes(header: ImageHeader, pass: ImagePass, sizes: readonly Size[]): number {
  const { steps } = pass;
  // While one page of a document is rewritten, all other pages are in memory too.
  const frames = header.animated ? frameCountOf(header, pass) : header.frames;
  const bytesOf = ({ width, height }: Size, copies: number) =>
    copies * width * height * frames * bytesPerPixel(header);
  const ofSteps = steps.map(({ operation: name, params }, index) => {
    return bytesOf(sizes[index] ?? header, findStepOperation(name)?.copies(params) ?? 0);
  });
  return Math.max(bytesOf(header, copiesForTurning(header, pass)), ...ofSteps);
}

/**
 * The number of copies needed to turn the picture upright. A still picture can be shrunk before it is turned. An
 * animation is taken apart, turned frame by frame, and joined again.
 */
function copiesForTurning(header: ImageHeader, pass: ImagePass): number {
  if (header.orientation === 1) return 0;
  if (frameCountOf(header, pass) > 1) return 3;
  return pass.steps[0]?.operation === 'resize' ? 0 : 1;
}
