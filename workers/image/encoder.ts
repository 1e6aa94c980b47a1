import type { Sharp } from 'sharp';
import type { Encode, OutputFormat } from '../protocol.ts';
import type { Size } from './geometry.ts';
import { invalid } from './refusal.ts';

/** What an encoder can do, and how it is told to. */
interface Encoder {
  contentType: string;
  hasAlpha: boolean;
  /** Longest side that the format has room for. */
  edgeLimitPx: number;
  apply(pipeline: Sharp, encode: Encode, motion: Motion): Sharp;
}

/** How an animation plays; empty for a still picture. */
export interface Motion {
  delay?: number[];
  loop?: number;
}

/** Defaults that look alike across formats: those of imgproxy. */
const QUALITY = { jpeg: 80, webp: 79, avif: 63, tiff: 80 } as const;

/** The encoder's own default of 4 takes seven to nine times as long, for files at most a tenth smaller. */
const AVIF_EFFORT = 2;
/** From here on a JPEG is worth trellis quantization: a fifth smaller, in seven to nine times the time. */
const JPEG_TRELLIS_FROM_EFFORT = 7;

const ENCODERS = {
  jpeg: {
    contentType: 'image/jpeg',
    hasAlpha: false,
    edgeLimitPx: 65535,
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
    edgeLimitPx: 65535,
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
    apply: (pipeline, { quality = QUALITY.avif, lossless = false, effort = AVIF_EFFORT, chroma = '4:2:0' }) =>
      pipeline.avif({ quality, lossless, effort, chromaSubsampling: lossless ? '4:4:4' : chroma }),
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
    edgeLimitPx: 65535,
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
): Sharp {
  const encoder: Encoder = ENCODERS[encode.format];
  return encoder.apply(pipeline, encode, motion);
}

/** @throws Refusal invalid_param on `lossless` or `format`. */
export function assertEncodable({ format, lossless }: Encode & { format: OutputFormat }, size?: Size): void {
  if (format === 'jpeg' && lossless === true) {
    throw invalid('lossless', 'lossless is true, but jpeg cannot be: ask for webp, avif or png.');
  }
  const { edgeLimitPx } = ENCODERS[format];
  if (size !== undefined && Math.max(size.width, size.height) > edgeLimitPx) {
    const message = `The result is ${size.width} × ${size.height} pixels, but an edge of a ${format} has at most ${edgeLimitPx}: ask for a smaller size or another format.`;
    throw invalid('format', message, { limit: edgeLimitPx });
  }
}

/** Effort 0 to 9 on an encoder's scale from 0 to `top`. */
function scaled(effort: number, top: number): number {
  return Math.round((effort * top) / 9);
}
