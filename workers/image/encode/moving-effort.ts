import type { EncodeOptions, OutputFormat } from '../../protocol.ts';

/** Encoding settings of an animation for which the caller chose no effort. */
interface MovingEffort {
  /** Megapixels of all frames in total. */
  upToMegapixels: number;
  /** Effort on the scale of the API, 0 to 9. Absent: the default effort. */
  effort?: number;
  /** CPU time, measured over an animation of 259 frames on one core. */
  cpuMsPerMegapixel: number;
}

/**
 * Efforts by the size of the animation. The encoder compares each frame with the one before several times. At the
 * default effort, 4 megapixels take 0.7 s of a core as WebP and 9 s as GIF. Lower efforts make WebP files 5 % larger,
 * and GIF files no larger.
 */
const EFFORTS: Readonly<Partial<Record<OutputFormat, readonly MovingEffort[]>>> = {
  webp: [
    { upToMegapixels: 16, cpuMsPerMegapixel: 190 },
    { upToMegapixels: Number.POSITIVE_INFINITY, effort: 0, cpuMsPerMegapixel: 120 },
  ],
  gif: [
    { upToMegapixels: 1, cpuMsPerMegapixel: 2_400 },
    { upToMegapixels: 4, effort: 3, cpuMsPerMegapixel: 540 },
    { upToMegapixels: Number.POSITIVE_INFINITY, effort: 0, cpuMsPerMegapixel: 380 },
  ],
};

/** What is written: all frames together. */
interface WrittenFrames {
  frames: number;
  megapixels: number;
}

/** How often a search tries the whole animation, in the time that an encoding of as many pixels may take. */
const SEARCH_TRIALS = 2;

/** The effort for an animation. Undefined for a still picture, if the caller chose an effort, and for a search. */
export function animationEffort(
  { format, effort, target }: EncodeOptions & { format: OutputFormat },
  written: WrittenFrames,
): MovingEffort | undefined {
  return effort === undefined && target === undefined ? effortFor(format, written, 1) : undefined;
}

/** The encoding of each trial of a search, if the caller chose no effort; undefined for a still picture. */
export function animationSearchEffort(
  format: OutputFormat,
  written: WrittenFrames,
): MovingEffort | undefined {
  return effortFor(format, written, SEARCH_TRIALS);
}

function effortFor(
  format: OutputFormat,
  { frames, megapixels }: WrittenFrames,
  trials: number,
): MovingEffort | undefined {
  if (frames === 1) return undefined;
  return EFFORTS[format]?.find(({ upToMegapixels }) => trials * megapixels <= upToMegapixels);
}
