import type { Encode, OutputFormat } from '../../protocol.ts';

/** What an animation is encoded with where nobody chose an effort. */
export interface MovingEffort {
  /** Of all frames together. */
  upToMegapixels: number;
  /** On the scale of the interface, 0 to 9; absent: the usual one. */
  effort?: number;
  /** CPU time as measured over an animation of 259 frames on one core. */
  cpuMsPerMegapixel: number;
}

/**
 * Each frame is tried several times against the one before it. At the usual effort 4 megapixels take 0.7 s of a core as WebP and
 * 9 s as GIF; at the lower ones files are 5 % larger as WebP and as large as GIF.
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

/** Undefined for a still picture, and where the effort is chosen already. */
export function movingEffort(
  { format, effort, target }: Encode & { format: OutputFormat },
  { frames, megapixels }: { frames: number; megapixels: number },
): MovingEffort | undefined {
  if (frames === 1 || effort !== undefined || target !== undefined) return undefined;
  return EFFORTS[format]?.find(({ upToMegapixels }) => megapixels <= upToMegapixels);
}
