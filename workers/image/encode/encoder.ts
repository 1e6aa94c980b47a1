import type { JpegOptions, Sharp } from 'sharp';
import type { Encode, OutputFormat } from '../../protocol.ts';
import type { Size } from '../pixels/geometry.ts';
import { invalid } from '../refusal.ts';
import { lossyWriter } from './lossless.ts';
import { movingEffort } from './moving-effort.ts';

/** What an encoder can do, and the options that make it do so. */
interface Encoder {
  contentType: string;
  hasAlpha: boolean;
  /** Longest side that the encoder writes; more than any picture has where the format sets none. */
  edgeLimitPx: number;
  /** @param size of one frame. */
  apply(pipeline: Sharp, encode: Settings, motion: Motion, size: Size): Sharp;
}

/** What an encoder can be told beside what a pass asks for. */
export interface Settings extends Encode {
  /** Whether the rows of a PNG are written as differences from their neighbours. */
  filtered?: boolean;
  /** The measure that a file is encoded for, where it is not the eye. */
  tune?: 'ssim';
  /** How strongly a palette mixes colours that it lacks, 0 to 1. */
  dither?: number;
  /** How far pixels of a GIF may differ from the frame before and still be taken for the same, 0 to 32. */
  interFrameMaxError?: number;
}

/** How an animation plays; empty for a still picture. */
export interface Motion {
  delay?: number[];
  loop?: number;
}

/**
 * Defaults that look alike: jpeg, webp and avif at SSIMULACRA 2 of 77 to 78 in the mean of six photographs. Of eleven, five are
 * within 2 points by all three. What parts the others is mostly WebP, which is up to 6 points worse than JPEG where a picture
 * is soft (standard deviation of the Laplacian below 2.1) and up to 3 better where it is rough (above 5). A quality that
 * follows from that would need all pixels before the first is written, and would be another for each picture.
 */
const QUALITY = { jpeg: 80, webp: 83, avif: 66, tiff: 80 } as const;
/** From this quality on colours are as fine as the brightness. */
const FULL_CHROMA_FROM_QUALITY = 90;

/** The longest side of a JPEG that the encoder takes: less than the 65535 that the format has room for. */
const JPEG_EDGE_PX = 65_500;

/** The usual effort of the AVIF encoder, on its own scale from 0 to 9. */
const AVIF_EFFORT = 2;
/** Up to here 3 is usual: files are up to 9 % smaller at the same looks, in twice the time. */
const AVIF_SMALL_PX = 1_000_000;
const AVIF_SMALL_EFFORT = 3;
/** The highest that is worth its time: 4 takes five times as long, and the files are as large or larger. */
const AVIF_TOP_EFFORT = 3;
/** Caps the effort, so that large pictures finish in time; lossless ones take three times as long. */
const AVIF_TOP_EFFORTS = {
  lossy: [
    { overPx: 24_000_000, top: 1 },
    { overPx: 16_000_000, top: 2 },
  ],
  lossless: [{ overPx: 4_000_000, top: 0 }],
};
/** Progressive, with tables of its own: 4 % smaller than the plainest, and loads in passes. */
const JPEG_EFFORT = 4;
/** The usual effort of the WebP encoder, on its own scale from 0 to 6: 2 % smaller than 4, in an eighth more of time. */
const WEBP_EFFORT = 5;
/**
 * mozjpeg's table by N. Robidoux, made for the eye: 9 % smaller than the standard's own at equal SSIMULACRA 2, in the same time. At equal
 * SSIM of the luma it is 3 % larger.
 */
const SEEN_QUANTISATION = 3;
/** Less effort leaves out the second look at colours that keeps the edges of red and blue sharp; it takes half as long again. */
const WEBP_SMART_FROM_EFFORT = 3;

const ENCODERS = {
  jpeg: {
    contentType: 'image/jpeg',
    hasAlpha: false,
    edgeLimitPx: JPEG_EDGE_PX,
    apply: (pipeline, { quality = QUALITY.jpeg, progressive, chroma, effort = JPEG_EFFORT, tune }) =>
      pipeline.jpeg({
        quality,
        ...(tune !== 'ssim' && { quantisationTable: SEEN_QUANTISATION }),
        ...jpegEffort(effort),
        ...(progressive !== undefined && { progressive }),
        ...(progressive === false && { optimiseScans: false }),
        chromaSubsampling: chroma ?? chromaFor(quality),
      }),
  },
  png: {
    contentType: 'image/png',
    hasAlpha: true,
    edgeLimitPx: Number.POSITIVE_INFINITY,
    apply: (pipeline, { quality, palette, colors, dither, effort, filtered, progressive = false }) =>
      (palette ?? colors !== undefined)
        ? pipeline.png({
            progressive,
            palette: true,
            ...(quality !== undefined && { quality }),
            ...(colors !== undefined && { colors }),
            ...(dither !== undefined && { dither }),
            ...(effort !== undefined && { effort: effort + 1 }),
          })
        : pipeline.png({
            progressive,
            ...(effort !== undefined && { compressionLevel: effort }),
            ...(filtered !== undefined && { adaptiveFiltering: filtered }),
          }),
  },
  webp: {
    contentType: 'image/webp',
    hasAlpha: true,
    edgeLimitPx: 16383,
    apply: (pipeline, { quality = QUALITY.webp, lossless = false, effort, tune }, motion) =>
      pipeline.webp({
        quality,
        lossless,
        smartSubsample:
          !lossless && tune !== 'ssim' && (effort ?? WEBP_SMART_FROM_EFFORT) >= WEBP_SMART_FROM_EFFORT,
        ...(!lossless && { effort: WEBP_EFFORT }),
        ...(effort !== undefined && { effort: scaled(effort, 6) }),
        ...motion,
      }),
  },
  avif: {
    contentType: 'image/avif',
    hasAlpha: true,
    edgeLimitPx: 16384,
    apply: (pipeline, { quality = QUALITY.avif, lossless = false, effort, chroma, tune }, _, size) =>
      pipeline.avif({
        quality,
        lossless,
        effort: avifEffort(effort, lossless, size),
        chromaSubsampling: lossless ? '4:4:4' : (chroma ?? chromaFor(quality)),
        ...(tune !== undefined && { tune }),
      }),
  },
  gif: {
    contentType: 'image/gif',
    hasAlpha: true,
    edgeLimitPx: 65535,
    apply: (pipeline, { colors, effort, dither, interFrameMaxError, progressive = false }, motion) =>
      pipeline.gif({
        progressive,
        keepDuplicateFrames: true,
        ...(colors !== undefined && { colors }),
        ...(effort !== undefined && { effort: effort + 1 }),
        ...(dither !== undefined && { dither }),
        ...(interFrameMaxError !== undefined && { interFrameMaxError }),
        ...motion,
      }),
  },
  tiff: {
    contentType: 'image/tiff',
    hasAlpha: true,
    edgeLimitPx: Number.POSITIVE_INFINITY,
    apply: (pipeline, { quality }) =>
      quality === undefined
        ? pipeline.tiff({ compression: 'lzw', predictor: 'horizontal' })
        : pipeline.tiff({ compression: 'jpeg', quality }),
  },
} satisfies Record<OutputFormat, Encoder>;

export function contentTypeOf(format: OutputFormat): string {
  return ENCODERS[format].contentType;
}

/** Whether what is written can be transparent: a TIFF with a quality is one of JPEG strips. */
export function canBeTransparent({ format, quality }: Encode & { format: OutputFormat }): boolean {
  return ENCODERS[format].hasAlpha && !(format === 'tiff' && quality !== undefined);
}

/** Whether a file of this format can say what its numbers mean. */
export function canCarryProfile(format: OutputFormat): boolean {
  return format !== 'gif';
}

/** The quality that is taken when none is asked for; undefined for formats that have none. */
export function defaultQuality(format: OutputFormat): number | undefined {
  return format in QUALITY ? QUALITY[format as keyof typeof QUALITY] : undefined;
}

/**
 * Tells the pipeline how to write.
 * @throws Refusal invalid_param on `lossless` or `format` when the format cannot hold the picture like that.
 */
export function encodeWith(
  pipeline: Sharp,
  encode: Settings & { format: OutputFormat },
  motion: Motion,
  size: Size & { frames: number },
): Sharp {
  const encoder: Encoder = ENCODERS[encode.format];
  const { width, height, frames } = size;
  const effort = movingEffort(encode, { frames, megapixels: (width * height * frames) / 1e6 })?.effort;
  return encoder.apply(pipeline, { ...encode, ...(effort !== undefined && { effort }) }, motion, size);
}

/** @throws Refusal invalid_param on `lossless` or `format`. */
export function assertEncodable(encode: Encode & { format: OutputFormat }, size?: Size): void {
  const { format } = encode;
  const lossy = lossyWriter(encode);
  if (lossy !== undefined) {
    throw invalid('lossless', `lossless is true, but ${lossy}: ask for webp, avif or png.`);
  }
  const limitPx = edgeLimitPx(encode);
  if (size !== undefined && Math.max(size.width, size.height) > limitPx) {
    const message = `The result is ${size.width} × ${size.height} pixels, but an edge of a ${format} has at most ${limitPx}: ask for a smaller size or another format.`;
    throw invalid('format', message, { limit: limitPx });
  }
}

/** A TIFF with a quality is one of JPEG strips. */
function edgeLimitPx({ format, quality }: Encode & { format: OutputFormat }): number {
  return format === 'tiff' && quality !== undefined ? JPEG_EDGE_PX : ENCODERS[format].edgeLimitPx;
}

/** The encoder's own effort: as it is asked for, as far as a picture of that size has the time. */
function avifEffort(effort: number | undefined, lossless: boolean, { width, height }: Size): number {
  const steps = AVIF_TOP_EFFORTS[lossless ? 'lossless' : 'lossy'];
  const top = steps.find(({ overPx }) => width * height > overPx)?.top ?? AVIF_TOP_EFFORT;
  const usual = !lossless && width * height <= AVIF_SMALL_PX ? AVIF_SMALL_EFFORT : AVIF_EFFORT;
  return effort === undefined ? Math.min(usual, top) : scaled(effort, top);
}

/** Effort 0 to 9 on an encoder's scale from 0 to `top`. */
function scaled(effort: number, top: number): number {
  return Math.round((effort * top) / 9);
}

function chromaFor(quality: number): '4:2:0' | '4:4:4' {
  return quality >= FULL_CHROMA_FROM_QUALITY ? '4:4:4' : '4:2:0';
}

/**
 * Options of a JPEG by effort. Up to 6 it is the same picture in fewer bytes; from 7 on trellis quantization leaves out what
 * is hardly seen. Over three photographs at quality 80, each step beside effort 0: bytes, and CPU time:
 *
 *     1 own tables          -1 %   x 2      7 trellis            -13 %   x 10
 *     3 progressive         -4 %   x 3      8 and its scans      -14 %   x 13
 *     5 scans by trial      -5 %   x 7      9 and no ringing     -13 %   x 14, cleaner beside hard edges
 */
function jpegEffort(effort: number): JpegOptions {
  return {
    optimiseCoding: effort >= 1,
    progressive: effort >= 3,
    optimiseScans: effort === 5 || effort === 6 || effort >= 8,
    trellisQuantisation: effort >= 7,
    overshootDeringing: effort >= 9,
  };
}
