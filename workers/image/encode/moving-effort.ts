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

/** The effort for an animation. Undefined for a still picture, and if the caller chose an effort. */
export function animationEffort(
  { format, effort, target }: EncodeOptions & { format: OutputFormat },
  { frames, megapixels }: { frames: number; megapixels: number },
): MovingEffort | undefined {
  if (frames === 1 || effort !== undefined || target !== undefined) return undefined;
  return EFFORTS[format]?.find(({ upToMegapixels }) => megapixels <= upToMegapixels);
}
