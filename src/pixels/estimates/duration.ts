import { operationNamed } from '../../../workers/image/operations/index.ts';
import { movingEffort } from '../../../workers/image/operations/parameter.ts';
import type { Encode, OutputFormat, Pass } from '../../../workers/protocol.ts';
import type { Header } from '../header/header.ts';
import { encodeOf, framesOf, sizesOf } from './following.ts';

/*
 * CPU milliseconds a megapixel on one core, as measured over photographs and noise (sharp 0.35): what an encoder may take
 * depends on the picture, up to seven times for a palette, and these are nearer to the worst. What one host really takes
 * corrects them: see lanes/pace.ts.
 */

/** Opening a picture, and a task's way to its worker. */
const BASE_MS = 5;
/** What a frame costs beside its pixels. */
const FRAME_MS = 5;
const DECODE_MS: Readonly<Record<string, number>> = {
  jpeg: 12,
  png: 25,
  webp: 25,
  avif: 60,
  gif: 20,
  tiff: 20,
};
/** All scans of a progressive or interlaced file, or two bytes a channel. */
const TWICE = 2;
/** A description reads all pixels once or twice, and looks at a small copy. */
const DESCRIBE_MS = 30;
/** A trial of a search is decoded again and compared; SSIMULACRA 2 looks at it in six sizes. */
const COMPARE_MS = 60;
const SCORE_MS = 450;
/** As counted over photographs: qualities are found in 3 trials in the mean and in 5 at most, palettes in 4. */
const QUALITY_TRIALS = 4;
const PALETTE_TRIALS = 4;
const LOSSLESS_TRIALS = 2;

type Known = Encode & { format: OutputFormat };
/** At the least effort, the usual one, and the greatest. */
type ByEffort = readonly [least: number, usual: number, greatest: number];

const PALETTE_MS: ByEffort = [450, 1_600, 3_200];
const ENCODE_MS: Readonly<Record<OutputFormat, ByEffort>> = {
  jpeg: [35, 80, 320],
  png: [10, 65, 200],
  webp: [80, 290, 640],
  avif: [125, 630, 1_400],
  gif: PALETTE_MS,
  tiff: [105, 105, 105],
};
const LOSSLESS_MS: Readonly<Partial<Record<OutputFormat, ByEffort>>> = {
  webp: [155, 670, 1_000],
  avif: [430, 900, 1_600],
};
/** Above this the AVIF encoder is kept to little effort: see workers/image/encode/encoder.ts. */
const LARGE_AVIF_MEGAPIXELS = 16;
const LARGE_LOSSLESS_AVIF_MEGAPIXELS = 4;
/** Up to here it takes all its effort unless it is asked for less; a search does so up to the second, for WebP too. */
const SMALL_AVIF_MEGAPIXELS = 1;
const SMALL_SEARCH_MEGAPIXELS = 2;
const GREATEST_EFFORT = 9;
/** Of the scale from 0 to 9, about where the usual effort lies. */
const USUAL_EFFORT = 5;

/** CPU time that a pass may take, in milliseconds; null is a description. */
export function estimatedMs(header: Header, pass: Pass | null): number {
  if (pass === null) return decodingMs(header, 1) + (header.pixels / 1e6) * DESCRIBE_MS;
  const frames = framesOf(header, pass);
  const megapixels = sizesOf(header, pass).map(({ width, height }) => (width * height * frames) / 1e6);
  const encode = encodeOf(header, pass);
  const written = { frames, megapixels: megapixels.at(-1) ?? 0 };
  return (
    decodingMs(header, readFrames(header, pass)) + stepsMs(pass, megapixels) + encodingMs(encode, written)
  );
}

/** A frame of a GIF or WebP is drawn over all that are before it. */
function readFrames(header: Header, pass: Pass): number {
  const { frame } = pass.decode;
  const isMoving = header.format === 'gif' || header.format === 'webp';
  return isMoving && typeof frame === 'number' ? Math.min(frame + 1, header.frames) : framesOf(header, pass);
}

/** The whole file is read for a description, and for a pass over all its frames. */
function decodingMs({ format, progressive, bitDepth, pixels, frames }: Header, wanted: number): number {
  const once = DECODE_MS[format] ?? 0;
  const perMegapixel = progressive || bitDepth > 8 ? once * TWICE : once;
  return BASE_MS + wanted * FRAME_MS + ((pixels / 1e6) * perMegapixel * wanted) / frames;
}

/** @param megapixels of all frames, before the first step and after each. */
function stepsMs({ steps }: Pass, megapixels: readonly number[]): number {
  return steps.reduce((total, { operation: name, params }, index) => {
    const operation = operationNamed(name);
    if (operation?.kind !== 'step') return total;
    const larger = Math.max(megapixels[index] ?? 0, megapixels[index + 1] ?? 0);
    return total + operation.cpuMsPerMegapixel(params) * larger;
  }, 0);
}

function encodingMs(encode: Known, written: { frames: number; megapixels: number }): number {
  const { megapixels } = written;
  const moving = movingEffort(encode, written);
  const once = megapixels * (moving?.cpuMsPerMegapixel ?? atEffort(encode, megapixels));
  if (encode.target === undefined) return once;
  const compareMs = 'ssimulacra2' in encode.target ? SCORE_MS : COMPARE_MS;
  return trialsOf(encode) * (once + megapixels * compareMs);
}

/** Of the searches of workers/image/search/target.ts. */
function trialsOf({ format, lossless }: Known): number {
  if (lossless) return LOSSLESS_TRIALS;
  return format === 'png' || format === 'gif' ? PALETTE_TRIALS : QUALITY_TRIALS;
}

function atEffort(encode: Known, megapixels: number): number {
  const [least, usual, greatest] = scaleOf(encode);
  const { format, lossless, effort = smallEffort(encode, megapixels) } = encode;
  const largeAvif = lossless ? LARGE_LOSSLESS_AVIF_MEGAPIXELS : LARGE_AVIF_MEGAPIXELS;
  if (format === 'avif' && megapixels > largeAvif) return least;
  if (effort === undefined) return usual;
  return effort <= USUAL_EFFORT
    ? least + ((usual - least) * effort) / USUAL_EFFORT
    : usual + ((greatest - usual) * (effort - USUAL_EFFORT)) / (GREATEST_EFFORT - USUAL_EFFORT);
}

/** What a small picture is worth unasked; undefined for the usual effort. */
function smallEffort({ format, lossless, target }: Known, megapixels: number): number | undefined {
  const isSearched = target !== undefined && megapixels <= SMALL_SEARCH_MEGAPIXELS;
  if ((format === 'webp' || format === 'avif') && isSearched) return GREATEST_EFFORT;
  return format === 'avif' && !lossless && megapixels <= SMALL_AVIF_MEGAPIXELS ? GREATEST_EFFORT : undefined;
}

function scaleOf({ format, lossless, palette, colors, target }: Known): ByEffort {
  const isPalette = palette ?? (colors !== undefined || target !== undefined);
  if (format === 'png' && isPalette) return PALETTE_MS;
  return (lossless && LOSSLESS_MS[format]) || ENCODE_MS[format];
}
