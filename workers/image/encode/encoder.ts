import type { Sharp } from 'sharp';
import type { Size } from '../../formats/size.ts';
import type { EncodeOptions, OutputFormat } from '../../protocol.ts';
import { invalidParamRefusal } from '../refusal.ts';
import {
  animationEffort,
  avifEncoderEffort,
  jpegEffortOptions,
  scaleEffort,
  webpEffortOptions,
} from './effort.ts';

/**
 * Sets an encoder on a pipeline.
 * @param size the size of one frame.
 */
type Encoder = (pipeline: Sharp, encode: EncodeSettings, motion: AnimationPlayback, size: Size) => Sharp;

/** Settings of an encoder beyond those that a pass requests. */
export interface EncodeSettings extends EncodeOptions {
  /**
   * Whether the rows of a PNG are filtered, which means that pixels are written as differences from their neighbours.
   */
  filtered?: boolean;
  /** Whether a WebP keeps hard edges between colours sharp, at any effort. */
  sharpColours?: boolean;
  /** The measure for which the encoder is tuned; visual quality if absent. */
  tune?: 'ssim';
  /** The strength of the dithering of a palette, 0 to 1. */
  dither?: number;
}

/** Delays and loop count of an animation; empty for a still picture. */
export interface AnimationPlayback {
  delay?: number[];
  loop?: number;
}

/**
 * Default qualities at which the formats look alike: for six photographs, jpeg, webp and avif have a mean SSIMULACRA 2
 * of 77 to 78. WebP differs most: it is up to 6 points worse than JPEG for a soft picture, and up to 3 points better
 * for a rough one. A quality chosen by the roughness of a picture would need all pixels before the first is written.
 */
const DEFAULT_QUALITIES = { jpeg: 80, webp: 84, avif: 67, tiff: 80 } as const;
/** At this quality or a higher one, chroma is not subsampled. */
const MIN_FULL_CHROMA_QUALITY = 90;

/** The longest side that an encoder writes. For JPEG it is below the 65535 that the format allows. */
const MAX_ENCODED_EDGE_PX: Partial<Record<OutputFormat, number>> = {
  jpeg: 65_500,
  webp: 16_383,
  avif: 16_384,
  gif: 65_535,
};

/**
 * mozjpeg's table by N. Robidoux, made for visual quality: its files are 9 % smaller than those of the standard's own
 * table at equal SSIMULACRA 2, in the same time. At equal SSIM of the luma they are 3 % larger.
 */
const VISUAL_QUANTISATION_TABLE = 3;

const ENCODER_BY_FORMAT: Record<OutputFormat, Encoder> = {
  jpeg: (pipeline, { quality = DEFAULT_QUALITIES.jpeg, progressive, chroma, effort, tune }, _motion, size) =>
    pipeline.jpeg({
      ...(tune !== 'ssim' && { quantisationTable: VISUAL_QUANTISATION_TABLE }),
      ...jpegEffortOptions(quality, size, { effort, progressive }),
      chromaSubsampling: chroma ?? chromaSubsamplingFor(quality),
    }),
  png: (pipeline, { quality, palette, colors, dither, effort, filtered, progressive = false }) =>
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
  webp: (pipeline, { quality = DEFAULT_QUALITIES.webp, lossless, effort, sharpColours, tune }, motion) =>
    pipeline.webp({
      quality,
      ...(lossless === true
        ? { lossless, ...(effort !== undefined && { effort: scaleEffort(effort, 6) }) }
        : webpEffortOptions(effort, sharpColours)),
      ...(tune === 'ssim' && { smartSubsample: false }),
      ...motion,
    }),
  avif: (pipeline, { quality = DEFAULT_QUALITIES.avif, lossless = false, effort, chroma, tune }, _, size) =>
    pipeline.avif({
      quality,
      lossless,
      effort: avifEncoderEffort(effort, lossless, size),
      chromaSubsampling: lossless ? '4:4:4' : (chroma ?? chromaSubsamplingFor(quality)),
      ...(tune !== undefined && { tune }),
    }),
  gif: (pipeline, { colors, effort, dither, progressive = false }, motion) =>
    pipeline.gif({
      progressive,
      keepDuplicateFrames: true,
      ...(colors !== undefined && { colors }),
      ...(effort !== undefined && { effort: effort + 1 }),
      ...(dither !== undefined && { dither }),
      ...motion,
    }),
  tiff: (pipeline, { quality }) =>
    quality === undefined
      ? pipeline.tiff({ compression: 'lzw', predictor: 'horizontal' })
      : pipeline.tiff({ compression: 'jpeg', quality }),
};

export function contentTypeOf(format: OutputFormat): string {
  return `image/${format}`;
}

/** Whether the result can be transparent. */
export function canBeTransparent(encode: EncodeOptions & { format: OutputFormat }): boolean {
  return alphaLevelsOfOutput(encode) > 1;
}

/** The number of alpha values that a pixel of the result may have; 1 if the result is opaque. */
export function alphaLevelsOfOutput(encode: EncodeOptions & { format: OutputFormat }): 1 | 2 | 256 {
  const codec = codecOf(encode);
  if (codec === 'jpeg') return 1;
  return codec === 'gif' ? 2 : 256;
}

/** The format whose codec writes the result. A TIFF with a quality holds JPEG strips. */
function codecOf({ format, quality }: EncodeOptions & { format: OutputFormat }): OutputFormat {
  return format === 'tiff' && quality !== undefined ? 'jpeg' : format;
}

/** The quality when the caller requests none; undefined for formats without a quality. */
export function defaultQuality(format: OutputFormat): number | undefined {
  if (format in DEFAULT_QUALITIES) return DEFAULT_QUALITIES[format as keyof typeof DEFAULT_QUALITIES];
  return undefined;
}

export function encodeWith(
  pipeline: Sharp,
  encode: EncodeSettings & { format: OutputFormat },
  motion: AnimationPlayback,
  size: Size & { frames: number },
): Sharp {
  const { width, height, frames } = size;
  const effort = animationEffort(encode, { frames, megapixels: (width * height * frames) / 1e6 })?.effort;
  return ENCODER_BY_FORMAT[encode.format](
    pipeline,
    { ...encode, ...(effort !== undefined && { effort }) },
    motion,
    size,
  );
}

/**
 * The reason why lossless=true is impossible, as the end of a message. Undefined if lossless is not requested, or is
 * possible.
 */
export function losslessImpossibleReason(options: EncodeOptions): string | undefined {
  const { lossless, format, palette, colors } = options;
  if (lossless !== true || format === undefined || format === 'webp' || format === 'avif') return undefined;
  if (format !== 'png') return `${format} has no lossless mode`;
  return (palette ?? colors !== undefined) ? 'a palette is not' : undefined;
}

/**
 * @throws PassRefusal invalid_param on `lossless` or `format`, if the settings or the size are impossible in the
 *   format.
 */
export function assertEncodable(encode: EncodeOptions & { format: OutputFormat }, size?: Size): void {
  const { format } = encode;
  const lossy = losslessImpossibleReason(encode);
  if (lossy !== undefined) {
    throw invalidParamRefusal('lossless', `lossless is true, but ${lossy}: ask for webp, avif or png.`);
  }
  const limitPx = MAX_ENCODED_EDGE_PX[codecOf(encode)];
  if (size !== undefined && limitPx !== undefined && Math.max(size.width, size.height) > limitPx) {
    const message = `The result is ${size.width} × ${size.height} pixels, but an edge of a ${format} has at most ${limitPx}: ask for a smaller size or another format.`;
    throw invalidParamRefusal('format', message, { limit: limitPx });
  }
}

function chromaSubsamplingFor(quality: number): '4:2:0' | '4:4:4' {
  return quality >= MIN_FULL_CHROMA_QUALITY ? '4:4:4' : '4:2:0';
}
