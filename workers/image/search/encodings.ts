import sharp, { type OutputInfo, type Sharp } from 'sharp';
import type { EncodeOptions } from '../../protocol.ts';
import { encodeOutput } from '../../transport/output.ts';
import { defaultSearchEffort } from '../encode/effort.ts';
import { type AnimationPlayback, encodeWith } from '../encode/encoder.ts';
import { type Pixels, roundChannels } from '../pixels/pixels.ts';
import { DeadlineError } from '../refusal.ts';
import type { RivalTurn, TakeTurn } from './rivals.ts';
import type { TrialSample } from './sample.ts';
import type { CommonEncoderSettings, EncoderSetting } from './settings.ts';
import { resultWithin, type SearchTime } from './time.ts';

/** An encoded file. Its height is the sum of the heights of all frames. */
export interface WrittenFile {
  data: Uint8Array<ArrayBuffer>;
  info: Pick<OutputInfo, 'width' | 'height' | 'size'>;
}

/** The picture of a search, with the functions that write files of it. */
export interface SearchedPicture extends SearchTime, Partial<Pick<RivalTurn, 'bytesToBeat'>> {
  pixels: Pixels;
  encode: CommonEncoderSettings;
  motion: AnimationPlayback;
  /**
   * Returns a pipeline over the pixels that writes what the files of all trials share, such as metadata and the
   * profile. Each trial adds its encoder settings.
   * @param pixels those of the picture, or with fewer colours.
   * @param timeoutMs the time after which the pipeline fails.
   */
  prepare(pixels: Pixels, timeoutMs: number): Promise<Sharp>;
  /** Returns a pipeline over the pixels of a sample, without metadata or a profile. */
  prepareSample(sample: Pixels): Sharp;
  /** Adds the metadata that the encoder cannot write to a file. */
  finish(written: WrittenFile): Promise<WrittenFile>;
  /**
   * Called when a trial takes too long, and is left behind. Absent if the process cannot be killed after its answer.
   */
  leaveTrial?: (() => void) | undefined;
  /** Waits, after the trials on a sample, until it is known whether the whole picture is worth trying. */
  takeTurn?: TakeTurn | undefined;
}

/**
 * Encodes the whole picture with a setting. Most encoders cannot be interrupted, so a trial that takes too long is left
 * behind if the process can be killed. A file that the search already has is then still in time.
 * @param timeoutMs the time after which the encoding fails.
 * @throws DeadlineError if the trial was left behind.
 */
export async function encodeWhole(
  search: SearchedPicture,
  setting: EncoderSetting,
  timeoutMs: number,
): Promise<WrittenFile> {
  const pixels = withFewerLevels(search.pixels, setting);
  const encoding = search
    .prepare(pixels, timeoutMs)
    .then((pipeline) => encodeTrial(search, pipeline, setting))
    .then(search.finish);
  if (search.leaveTrial === undefined) return encoding;
  const file = await resultWithin(timeoutMs, encoding);
  if (file !== null) return file;
  search.leaveTrial();
  throw new DeadlineError();
}

/**
 * The smallest time that a pair of frames is assumed to take, as a share of the time of the sample, because measured
 * differences are rough.
 */
const MIN_PAIR_TIME_SHARE = 1 / 8;

/** The file of a sample, and the estimated bytes and CPU milliseconds of the file of the whole picture. */
export interface EncodedSample {
  file: WrittenFile;
  bytes: number;
  cpuMs: number;
}

/** Encodes a sample, and estimates the size and the CPU time of the file of the whole picture. */
export async function encodeSample(
  search: SearchedPicture,
  { pixels, pairFirstFrames, bytesRatio, timeRatio }: TrialSample,
  setting: EncoderSetting,
): Promise<EncodedSample> {
  const { encode, clock, prepareSample, pixels: whole } = search;
  const options = { ...encode, ...searchEffortOptions(encode, whole) };
  const write = (part: Pixels) =>
    encodeTrial(
      { pixels: part, encode: options, motion: {} },
      prepareSample(withFewerLevels(part, setting)),
      setting,
    );
  const beganCpuMs = clock.cpuMs();
  const file = await write(pixels);
  const tookCpuMs = clock.cpuMs() - beganCpuMs;
  if (pairFirstFrames === undefined)
    return { file, bytes: bytesRatio * file.info.size, cpuMs: timeRatio * tookCpuMs };
  const firstFramesFile = await write(pairFirstFrames);
  const firstFramesCpuMs = clock.cpuMs() - beganCpuMs - tookCpuMs;
  const changeBytes = Math.max(0, file.info.size - firstFramesFile.info.size);
  const changeCpuMs = Math.max(MIN_PAIR_TIME_SHARE * tookCpuMs, tookCpuMs - firstFramesCpuMs);
  return {
    file,
    bytes: firstFramesFile.info.size / pairFirstFrames.frames + bytesRatio * changeBytes,
    cpuMs: firstFramesCpuMs / pairFirstFrames.frames + timeRatio * changeCpuMs,
  };
}

function withFewerLevels(pixels: Pixels, { levels }: EncoderSetting): Pixels {
  return levels === undefined ? pixels : roundChannels(pixels, levels);
}

async function encodeTrial(
  { pixels, encode, motion }: Pick<SearchedPicture, 'pixels' | 'encode' | 'motion'>,
  opened: Sharp,
  { paletteQuality, levels: _, ...settings }: EncoderSetting,
): Promise<WrittenFile> {
  const pipeline = paletteQuality === undefined ? opened : await reduceToPalette(opened, paletteQuality);
  const options = { ...encode, ...searchEffortOptions(encode, pixels), ...settings };
  return encodeOutput(encodeWith(pipeline, options, motion, pixels));
}

/** Reduces a still picture to the colours that a palette of this quality needs. */
async function reduceToPalette(pipeline: Sharp, quality: number): Promise<Sharp> {
  const { data } = await encodeOutput(pipeline.png({ palette: true, quality, compressionLevel: 0 }));
  return sharp(data, { limitInputPixels: false });
}

/** The effort of a search: the caller's, or a default. */
export function searchEffortOptions(
  { format, effort: requested }: CommonEncoderSettings,
  { width, height, frames }: Pixels,
): EncodeOptions {
  const effort =
    requested ?? defaultSearchEffort(format, { frames, megapixels: (width * height * frames) / 1e6 });
  return effort === undefined ? {} : { effort };
}
