import type { Sharp } from 'sharp';
import type { Encode, OutputFormat } from '../protocol.ts';
import type { Size } from './geometry.ts';
import { lossyWriter } from './lossless.ts';
import { invalid } from './refusal.ts';

/** What an encoder can do, and how it is told to. */
interface Encoder {
  contentType: string;
  hasAlpha: boolean;
  /** Longest side that the encoder writes; more than any picture has where the format sets none. */
  edgeLimitPx: number;
  /** @param size of one frame. */
  apply(pipeline: Sharp, encode: Encode, motion: Motion, size: Size): Sharp;
}

/** How an animation plays; empty for a still picture. */
export interface Motion {
  delay?: number[];
  loop?: number;
}

/** Defaults that look alike across formats: those of imgproxy. */
const QUALITY = { jpeg: 80, webp: 79, avif: 63, tiff: 80 } as const;

/** The longest side of a JPEG that the encoder takes: less than the 65535 that the format has room for. */
const JPEG_EDGE_PX = 65_500;

/** The usual effort of the AVIF encoder, on its own scale from 0 to 9. */
const AVIF_EFFORT = 2;
/** The highest that is worth its time: 4 takes five times as long, and the files are as large or larger. */
const AVIF_TOP_EFFORT = 3;
/** Larger pictures end in time with less only, whatever is asked for; lossless ones take three times as long. */
const AVIF_TOP_EFFORTS = {
  lossy: [
    { overPx: 24_000_000, top: 1 },
    { overPx: 16_000_000, top: 2 },
  ],
  lossless: [{ overPx: 4_000_000, top: 0 }],
};
/** From here on a JPEG is worth trellis quantization: a fifth smaller, in seven to nine times the time. */
const JPEG_TRELLIS_FROM_EFFORT = 7;

const ENCODERS = {
  jpeg: {
    contentType: 'image/jpeg',
    hasAlpha: false,
    edgeLimitPx: JPEG_EDGE_PX,
    apply: (pipeline, { quality = QUALITY.jpeg, progressive = false, chroma = '4:2:0', effort = 0 }) =>
      pipeline.jpeg({
        quality,
        progressive,
        chromaSubsampling: chroma,
        mozjpeg: effort >= JPEG_TRELLIS_FROM_EFFORT,
      }),
  },
  png: {
    contentType: 'image/png',
    hasAlpha: true,
    edgeLimitPx: Number.POSITIVE_INFINITY,
    apply: (pipeline, { quality, palette, colors, effort, progressive = false }) =>
      (palette ?? colors !== undefined)
        ? pipeline.png({
            progressive,
            palette: true,
            ...(quality !== undefined && { quality }),
            ...(colors !== undefined && { colors }),
            ...(effort !== undefined && { effort: effort + 1 }),
          })
        : pipeline.png({ progressive, ...(effort !== undefined && { compressionLevel: effort }) }),
  },
  webp: {
    contentType: 'image/webp',
    hasAlpha: true,
    edgeLimitPx: 16383,
    apply: (pipeline, { quality = QUALITY.webp, lossless = false, effort }, motion) =>
      pipeline.webp({
        quality,
        lossless,
        ...(effort !== undefined && { effort: scaled(effort, 6) }),
        ...motion,
      }),
  },
  avif: {
    contentType: 'image/avif',
    hasAlpha: true,
    edgeLimitPx: 16384,
    apply: (pipeline, { quality = QUALITY.avif, lossless = false, effort, chroma = '4:2:0' }, _, size) =>
      pipeline.avif({
        quality,
        lossless,
        effort: avifEffort(effort, lossless, size),
        chromaSubsampling: lossless ? '4:4:4' : chroma,
      }),
  },
  gif: {
    contentType: 'image/gif',
    hasAlpha: true,
    edgeLimitPx: 65535,
    apply: (pipeline, { colors, effort, progressive = false }, motion) =>
      pipeline.gif({
        progressive,
        keepDuplicateFrames: true,
        ...(colors !== undefined && { colors }),
        ...(effort !== undefined && { effort: effort + 1 }),
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
  encode: Encode & { format: OutputFormat },
  motion: Motion,
  size: Size,
): Sharp {
  const encoder: Encoder = ENCODERS[encode.format];
  return encoder.apply(pipeline, encode, motion, size);
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
  return effort === undefined ? Math.min(AVIF_EFFORT, top) : scaled(effort, top);
}

/** Effort 0 to 9 on an encoder's scale from 0 to `top`. */
function scaled(effort: number, top: number): number {
  return Math.round((effort * top) / 9);
}
