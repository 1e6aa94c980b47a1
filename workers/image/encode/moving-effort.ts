import type { Encode, OutputFormat } from '../../protocol.ts';

/** The encoding of an animation if the caller chose no effort. */
interface MovingEffort {
  /** Megapixels of all frames in total. */
  upToMegapixels: number;
  /** Effort on the scale of the API, 0 to 9; absent: the default one. */
  effort?: number;
  /** CPU time, measured over an animation of 259 frames on one core. */
  cpuMsPerMegapixel: number;
}

/**
 * Efforts by size. The encoder tries each frame several times against the one before it. At the default effort 4
 * megapixels take 0.7 s of a core as WebP and 9 s as GIF. At the lower efforts files are 5 % larger as WebP, and the
 * same size as GIF.
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

/** Undefined for a still picture, or if the effort is already chosen. */
export function movingEffort(
  { format, effort, target }: Encode & { format: OutputFormat },
  { frames, megapixels }: { frames: number; megapixels: number },
): MovingEffort | undefined {
  if (frames === 1 || effort !== undefined || target !== undefined) return undefined;
  return EFFORTS[format]?.find(({ upToMegapixels }) => megapixels <= upToMegapixels);
}
