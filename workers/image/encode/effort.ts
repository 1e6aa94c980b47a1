import type { JpegOptions, WebpOptions } from 'sharp';
import type { Size } from '../../formats/size.ts';
import type { EncodeOptions, OutputFormat } from '../../protocol.ts';

/*
 * The settings of the encoders at each effort from 0 to 9. Efforts were chosen from curves of CPU time against bytes at
 * equal SSIMULACRA 2 of 77 (eleven photographs, 512 px wide; `npm run bench -- efforts` measures them). A higher effort
 * never makes a larger file. The default effort is the point from which saving more bytes costs more time than a
 * waiting caller would accept.
 */

/** The default effort. The tables below give its cost in CPU milliseconds and bytes. */
export const DEFAULT_EFFORT = { jpeg: 4, webp: 3, avif: 0 } as const satisfies Partial<
  Record<OutputFormat, number>
>;

/** At this effort or a higher one, every WebP gets sharp chroma subsampling. */
const MIN_SHARP_YUV_EFFORT = 8;
/**
 * The WebP encoder's own effort, 0 to 6. Its 4 is as slow as 3 and no better. Its 6 without sharp subsampling is slower
 * than 5 with it, and makes larger files. The table shows CPU time and file size by encoder effort.
 *
 *     0   7 ms  38.0 kB      5  25 ms  30.9 kB
 *     1   9 ms  35.4 kB      5 and sharp colours  42 ms  30.4 kB
 *     2  10 ms  33.4 kB      6 and sharp colours  73 ms  29.8 kB
 *     3  21 ms  31.5 kB
 */
const WEBP_ENCODER_EFFORTS = [0, 1, 2, 2, 3, 3, 5, 5, 5, 6] as const;

/**
 * Options of a lossy WebP.
 * @param sharpColours whether the picture has hard edges between colours, which plain subsampling would blur.
 */
export function webpEffortOptions(effort: number = DEFAULT_EFFORT.webp, sharpColours = false): WebpOptions {
  return {
    effort: WEBP_ENCODER_EFFORTS[effort] as number,
    smartSubsample: sharpColours || effort >= MIN_SHARP_YUV_EFFORT,
  };
}

const MIN_TRELLIS_EFFORT = 9;
/**
 * Trellis quantisation drops hardly visible details. To make up for that, the quality is raised by this share of its
 * distance from 0 or 100, whichever is nearer: by 1 at quality 10, 5 at 50 and 2 at 80, as measured at equal SSIMULACRA
 * 2. Files are then 5 % smaller at quality 50, and 1 % at 80.
 */
const TRELLIS_QUALITY_RAISE_SHARE = 0.1;

/**
 * With at least this many pixels, a progressive JPEG is smaller than a sequential one. Progressive files of quality 80
 * are 16 % larger at 64 px, 4 % larger at 128 px, equal at 200 px and 3 % smaller at 512 px (24 photographs).
 */
const MIN_PROGRESSIVE_PX = 40_000;

/**
 * Options of a JPEG. The table shows the lowest effort of each feature, with CPU time and file size.
 *
 *     0  plain tables  1.5 ms  35.2 kB      3  progressive    4.4 ms  33.7 kB      9  trellis  22 ms  33.2 kB
 *     1  own tables    2.7 ms  34.4 kB      6  scans by trial  10 ms  33.4 kB
 *
 * @param size of the picture. A small one is progressive only if the caller requests it.
 */
export function jpegEffortOptions(
  quality: number,
  size: Size,
  {
    effort = DEFAULT_EFFORT.jpeg,
    progressive: requested,
  }: { effort?: number | undefined; progressive?: boolean | undefined } = {},
): JpegOptions {
  const hasTrellis = effort >= MIN_TRELLIS_EFFORT;
  const progressive = requested ?? (effort >= 3 && size.width * size.height >= MIN_PROGRESSIVE_PX);
  return {
    quality: hasTrellis
      ? Math.round(quality + TRELLIS_QUALITY_RAISE_SHARE * Math.min(quality, 100 - quality))
      : quality,
    optimiseCoding: effort >= 1,
    progressive,
    optimiseScans: progressive && effort >= 6,
    trellisQuantisation: hasTrellis,
    overshootDeringing: hasTrellis,
  };
}

/**
 * The highest effort that is used, on the scale of the AVIF encoder. Its effort 4 takes five times as long, and makes
 * files that are as large or larger.
 */
const MAX_AVIF_EFFORT = 3;
/**
 * The default effort for the AVIF of a drawing or screenshot, up to a size. From effort 1 on, the encoder uses its
 * tools for such pictures: at 512 px, files of equal likeness are 40 % smaller than with effort 0, and take 31 ms
 * instead of 11.
 */
export const AVIF_DRAWING_EFFORT = { effort: 3, maxPx: 1_000_000 };
/**
 * Limits of the effort for large pictures, so that they finish in time. Lossless encoding takes three times as long.
 */
const MAX_AVIF_EFFORTS_BY_SIZE = {
  lossy: [
    { overPx: 24_000_000, top: 1 },
    { overPx: 16_000_000, top: 2 },
  ],
  lossless: [{ overPx: 4_000_000, top: 0 }],
};
/** The effort of a lossless AVIF if the caller chose none. */
const AVIF_LOSSLESS_EFFORT = 6;

/**
 * The AVIF encoder's own effort, limited by the size of the picture. The table shows CPU time and file size by encoder
 * effort.
 *
 *     0  16 ms  28.7 kB      2   94 ms  25.2 kB
 *     1  59 ms  26.0 kB      3  163 ms  24.2 kB
 */
export function avifEncoderEffort(
  effort: number | undefined,
  lossless: boolean,
  { width, height }: Size,
): number {
  const steps = MAX_AVIF_EFFORTS_BY_SIZE[lossless ? 'lossless' : 'lossy'];
  const top = steps.find(({ overPx }) => width * height > overPx)?.top ?? MAX_AVIF_EFFORT;
  return scaleEffort(effort ?? (lossless ? AVIF_LOSSLESS_EFFORT : DEFAULT_EFFORT.avif), top);
}

/** The largest still picture, in megapixels, for which a search uses the highest effort. */
const MAX_FULL_EFFORT_MEGAPIXELS = 2;
const MAX_EFFORT = 9;
/** The effort of a search over a large WebP. The next higher one takes twice the time. */
const LARGE_WEBP_SEARCH_EFFORT = 7;

/**
 * The effort of a search for the smallest file, which encodes many times. Undefined means the default effort.
 * @param written the frames and the pixels of all frames together.
 */
export function defaultSearchEffort(
  format: OutputFormat,
  written: { frames: number; megapixels: number },
): number | undefined {
  const animated = animationSearchEffort(format, written);
  if (animated !== undefined) return animated.effort ?? (format === 'webp' ? DEFAULT_EFFORT.webp : undefined);
  const isUnhurried = written.megapixels <= MAX_FULL_EFFORT_MEGAPIXELS;
  if (format === 'webp') return isUnhurried ? MAX_EFFORT : LARGE_WEBP_SEARCH_EFFORT;
  if (format === 'avif') return isUnhurried ? MAX_EFFORT : 0;
  return undefined;
}

/**
 * The effort of the lossless animations of a search. At a lower effort, the encoder may write three times the bytes,
 * and at a higher one it writes as many: 65 frames of a drawing take 1,504 kB and 60 ms a megapixel at effort 0, 490 kB
 * and 130 ms at 3, and 490 kB and 260 ms at 7.
 */
export const LOSSLESS_ANIMATION_EFFORT = 3;

/** Maps effort 0 to 9 to an encoder's scale from 0 to `top`. */
export function scaleEffort(effort: number, top: number): number {
  return Math.round((effort * top) / 9);
}

/** Encoding settings of an animation for which the caller chose no effort. */
interface AnimationEffort {
  /** The most megapixels of all frames together. */
  maxMegapixels: number;
  /** The effort on the scale of the API, 0 to 9; the default effort if absent. */
  effort?: number;
  /** CPU time, measured over an animation of 259 frames on one core. */
  cpuMsPerMegapixel: number;
}

/**
 * Efforts by the size of the animation. The encoder compares each frame with the one before several times. At the
 * default effort, 4 megapixels take 0.7 s of a core as WebP and 9 s as GIF. Lower efforts make WebP files 5 % larger,
 * and GIF files no larger.
 */
const ANIMATION_EFFORTS: Readonly<Partial<Record<OutputFormat, readonly AnimationEffort[]>>> = {
  webp: [
    { maxMegapixels: 16, cpuMsPerMegapixel: 190 },
    { maxMegapixels: Number.POSITIVE_INFINITY, effort: 0, cpuMsPerMegapixel: 120 },
  ],
  gif: [
    { maxMegapixels: 1, cpuMsPerMegapixel: 2_400 },
    { maxMegapixels: 4, effort: 3, cpuMsPerMegapixel: 540 },
    { maxMegapixels: Number.POSITIVE_INFINITY, effort: 0, cpuMsPerMegapixel: 380 },
  ],
};

/** The frames to write: their number, and the pixels of all frames together. */
interface WrittenFrames {
  frames: number;
  megapixels: number;
}

/**
 * A search encodes the whole animation about this many times. It therefore uses the effort for an animation that is as
 * many times larger.
 */
const ANIMATION_SEARCH_TRIALS = 2;

/**
 * The effort for an animation. Undefined if the picture is still, if the caller chose an effort, or if the encoder
 * searches for a target (see `animationSearchEffort`).
 */
export function animationEffort(
  { format, effort, target }: EncodeOptions & { format: OutputFormat },
  written: WrittenFrames,
): AnimationEffort | undefined {
  return effort === undefined && target === undefined ? animationEffortFor(format, written, 1) : undefined;
}

/** The effort for each trial of a search, if the caller chose none; undefined for a still picture. */
export function animationSearchEffort(
  format: OutputFormat,
  written: WrittenFrames,
): AnimationEffort | undefined {
  return animationEffortFor(format, written, ANIMATION_SEARCH_TRIALS);
}

function animationEffortFor(
  format: OutputFormat,
  { frames, megapixels }: WrittenFrames,
  trials: number,
): AnimationEffort | undefined {
  if (frames === 1) return undefined;
  return ANIMATION_EFFORTS[format]?.find(({ maxMegapixels }) => trials * megapixels <= maxMegapixels);
}
