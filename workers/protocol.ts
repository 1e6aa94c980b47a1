/**
 * The messages between an API process and its image threads: plain data, structured-cloned, buffers transferred.
 * Both sides import this file; neither imports the other.
 * The messages for HTML pages are in render/protocol.ts, and those for vector drawings in vector/protocol.ts.
 */

/** The largest size of an image, in pixels: width × height × frames of the file. */
export const MAX_PIXELS = 50_000_000;

/** One step of a pass: an operation of the registry and its checked arguments (see image/operations). */
export interface OperationStep {
  operation: string;
  params: Record<string, unknown>;
}

export type OutputFormat = 'jpeg' | 'png' | 'webp' | 'avif' | 'gif' | 'tiff';
export type MetadataPolicy = 'strip' | 'keep' | 'copyright';

/** The options for reading the input. */
export interface DecodeOptions {
  /**
   * The frames to read. If absent, all frames are read if input and output can be animated and every step works frame
   * by frame; otherwise only the first one is read.
   */
  frame?: 'first' | 'all' | number;
  /** A range of frames, such as `10..99`: the first and the last one, counted from 0. */
  frames?: string;
  /** Reads only every n-th frame, counted from the first one. */
  everyNth?: number;
  /** The most frames to keep per second of the animation. */
  maxFps?: number;
  /** The most frames to keep, counted from the beginning. */
  maxFrames?: number;
  /**
   * Dots per inch for vector input, 1 to 2400. At 96, a CSS pixel is drawn as one pixel. If absent, 96 or the density
   * that a resize needs.
   */
  density?: number;
}

/** The options for writing the result. Absent options take the defaults of the encoder. */
export interface EncodeOptions {
  /** If absent, the format of the input is used if it can be written, otherwise png. */
  format?: OutputFormat;
  /**
   * Replaces `format`: the result is the smallest file of these formats. A task for a thread never has several formats,
   * because the API process makes one pass for each.
   */
  formats?: readonly OutputFormat[];
  quality?: number;
  lossless?: boolean;
  /** The effort, 0 to 9, scaled to the range of the encoder. */
  effort?: number;
  metadata?: MetadataPolicy;
  /** CSS colour under transparent pixels of a format without alpha. */
  background?: string;
  /** The pass is refused if the picture has transparency that the format cannot keep, and there is no background. */
  keepsAlpha?: true;
  progressive?: boolean;
  palette?: boolean;
  colors?: number;
  chroma?: '4:2:0' | '4:4:4';
  /** The pass searches for the smallest file that meets this target. */
  target?: { maxBytes: number } | { minSsim: number } | { ssimulacra2: number };
}

/** One pass: one decode, the steps in order, one encode. */
export interface ImagePass {
  decode: DecodeOptions;
  steps: OperationStep[];
  encode: EncodeOptions;
  /**
   * Passes with the same number write one result in several formats. They search for the same likeness, and only the
   * smallest of their files is kept.
   */
  formatGroup?: number;
}

/** The result of a search for a target. Fields that do not apply to the format and the target are absent. */
export interface TargetSearchResult {
  quality?: number;
  /** Present if the file was written without loss. */
  lossless?: true;
  /** SSIM of Wang et al. (2004) on luma, rounded down to four digits. */
  ssim?: number;
  /** SSIMULACRA 2, rounded down to two digits. */
  ssimulacra2?: number;
  bytes: number;
  /** The number of files that were written and measured; 0 if the input itself reaches the target. */
  trials: number;
}

/** The nearest file of a search that did not reach its target, in the details of its failure. */
export interface SearchDetails {
  /** The size in bytes, or the likeness, of the nearest file. */
  reached: number;
  /** The values of the nearest file, and the settings that made it. */
  achieved: TargetSearchResult & Pick<EncodeOptions, 'format' | 'effort' | 'colors'>;
}

/** The shape of a rasterized vector drawing, whose 8-bit sRGB pixels `input` holds row by row instead of a file. */
export interface RawPixelShape {
  width: number;
  height: number;
  /** RGBA; alpha is not premultiplied. */
  channels: 4;
}

/**
 * Facts that the sender has read from the header of a still JPEG, PNG or WebP. They save the thread from reading the
 * header, a sixth of the cost of a small picture. Without them, and for other formats and animations, the thread reads
 * the header itself. They must be equal to what the codec reads, because sizes are computed from them. No task is
 * refused because of them alone.
 */
export interface InputHeader {
  format: 'jpeg' | 'png' | 'webp';
  /** Width and height as stored, before EXIF orientation. */
  width: number;
  height: number;
  /** EXIF value, 1 to 8; 1 when absent. */
  orientation: number;
  /** Whether the file has transparency of any kind, including a PNG's tRNS chunk. */
  hasAlpha: boolean;
  /** Whether the file is grey: it has one channel, not counting alpha. */
  isGrey: boolean;
  /** Whether the file has a palette, or fewer than 8 bits of grey. */
  isIndexed: boolean;
  bitDepth: number;
}

/** Facts that the sender has read from a header because the codec reports them wrongly. */
export interface HeaderDecodeHints {
  /** The number of pictures in an AVIF. The codec also counts the tiles of a grid. */
  pictures?: number;
  /** The number of frames of an animated PNG or an AVIF sequence beside the picture that the codec reads. */
  unreadFrames?: number;
}

/** The bytes of a file, or the pixels of a drawing if `raw` is present. */
export interface RasterInput {
  input: Uint8Array<ArrayBuffer>;
  raw?: RawPixelShape;
}

export interface TransformTask extends HeaderDecodeHints {
  kind: 'transform';
  /** The task owns the bytes: they are transferred, and the sender never touches them again. */
  input: Uint8Array<ArrayBuffer>;
  raw?: RawPixelShape;
  header?: InputHeader;
  pass: ImagePass;
  /** The second pictures that steps read, keyed by the id that the steps use for them. */
  layers?: Record<string, RasterInput>;
  /** Threads of libvips that work on the picture; one when absent. The result is the same with any number. */
  threads?: number;
  /** Whether the result is also described, as by a DescribeTask. */
  describes?: true;
  /** Epoch milliseconds after which nobody waits for the answer. */
  deadlineMs: number;
}

/** Runs several passes over one file, which is decoded once for all that read the same pixels. */
export interface BranchTask
  extends Pick<TransformTask, 'input' | 'header' | 'layers' | 'threads' | 'deadlineMs'>,
    HeaderDecodeHints {
  kind: 'branch';
  passes: ImagePass[];
}

/** Reads everything that the metadata endpoint reports about an image. */
export interface DescribeTask extends HeaderDecodeHints {
  kind: 'describe';
  input: Uint8Array<ArrayBuffer>;
  /** With raw pixels, the sender fills in the facts about the file: format, mimeType, bytes, sha1 and metadata. */
  raw?: RawPixelShape;
  /** The largest number of colours of the palette. If absent, no palette is measured. */
  palette?: number;
  deadlineMs: number;
}

/** Compares two pictures of the same size. */
export interface CompareTask {
  kind: 'compare';
  input: Uint8Array<ArrayBuffer>;
  raw?: RawPixelShape;
  other: Uint8Array<ArrayBuffer>;
  otherRaw?: RawPixelShape;
  /** Whether the difference has a score of SSIMULACRA 2, which takes half a second per megapixel. */
  isScored?: boolean;
  deadlineMs: number;
}

export type ImageTask = TransformTask | BranchTask | DescribeTask | CompareTask;

/**
 * The times of a pass. The codec streams, so decoding, the steps and the last encoding are one sweep over the picture,
 * reported as processMs. decodeMs is the time for opening the input before the sweep, and encodeMs the time for trial
 * encodings after it.
 */
export interface PassTimings {
  decodeMs: number;
  processMs: number;
  encodeMs: number;
}

export function sumTimings(all: readonly PassTimings[]): PassTimings {
  const sum = { decodeMs: 0, processMs: 0, encodeMs: 0 };
  for (const timings of all)
    for (const part of ['decodeMs', 'processMs', 'encodeMs'] as const) sum[part] += timings[part];
  return sum;
}

export function totalMsOf({ decodeMs, processMs, encodeMs }: PassTimings): number {
  return decodeMs + processMs + encodeMs;
}

/** Two short hashes that a client draws as a blurred preview. */
export interface PlaceholderHashes {
  /** Base64. */
  thumbhash: string;
  blurhash: string;
}

/** A warning to the caller about the result of a pass that succeeded. */
export interface PassWarning {
  code:
    | 'not_enlarged'
    | 'larger_than_input'
    | 'no_effect'
    | 'alpha_lost'
    | 'metadata_dropped'
    | 'frames_lost'
    | 'pages_lost'
    | 'text_cut'
    | 'layer_cut'
    | 'layer_outside'
    | 'search_cut_short'
    | 'low_quality'
    | 'format_not_tried';
  /**
   * The subject of the warning. For not_enlarged: the side, `width` or `height`, that is smaller than requested. For
   * no_effect: the parameter. For frames_lost and pages_lost: their number. For text_cut, layer_cut and layer_outside:
   * the size of the text or the layer, such as `64x64`. For low_quality: what would look better, `fewer_frames` or
   * `smaller_picture`. For format_not_tried: the format.
   */
  name?: string;
}

/** A picture in a file format. */
export interface PictureFile {
  data: Uint8Array<ArrayBuffer>;
  contentType: string;
  /** The size in pixels, of one frame. */
  width: number;
  height: number;
}

export interface TransformTaskResult extends PictureFile {
  kind: 'transformed';
  /** Present if the pass reaches a target. */
  achieved?: TargetSearchResult;
  /** Bits per channel of the result; present if the input has more than 8. */
  bitDepth?: 8 | 16;
  /** Hashes of the picture that a placeholder represents. */
  hashes?: PlaceholderHashes;
  /** The warnings about the result; absent if there are none. */
  warnings?: PassWarning[];
  /** Present if the task requested a description and the result could be read again. */
  facts?: Pick<DescribeTaskResult, 'image' | 'metadata'>;
  timings: PassTimings;
  leavesWork?: LeftWork;
}

/** Present if work that was not done in time still runs, so that the process must be killed. */
type LeftWork = true;

export interface BranchTaskResult {
  kind: 'branched';
  /** The result of each pass, in the order of the passes in the task. */
  outputs: (TransformTaskResult | TaskFailure)[];
  timings: PassTimings;
  leavesWork?: LeftWork;
}

/** A main colour of a picture. */
export interface PaletteColour {
  /** #rrggbb */
  color: string;
  /** The share of the visible pixels, above 0. The shares of a palette sum to 1. */
  share: number;
}

/**
 * The image object of the API, as a worker measures it. A stored image object may lack facts that an earlier version
 * did not measure.
 */
export interface ImageFacts extends PlaceholderHashes {
  mimeType: string;
  format: string;
  /** Width and height as displayed, that is after EXIF orientation. */
  width: number;
  height: number;
  /** EXIF value, 1 to 8; 1 when absent. */
  orientation: number;
  bytes: number;
  sha1: string;
  hasAlpha: boolean;
  isOpaque: boolean;
  frames: number;
  density: number | null;
  colorSpace: string;
  bitDepth: number;
  dominantColor: string;
  averageColor: string;
  entropy: number;
  sharpness: number;
  /** 16 hex digits; see perceptual-hash.ts. */
  perceptualHash: string;
  /** Present if the task requests a palette; see palette.ts. */
  palette?: PaletteColour[];
}

export interface DescribeTaskResult {
  kind: 'described';
  image: ImageFacts;
  /**
   * Tags read from the file under their own names, grouped (`exif`, `iptc`, `xmp`, `icc`, `png`, …), without binary
   * values.
   */
  metadata: Record<string, Record<string, unknown>>;
  timings: PassTimings;
}

/** By how much, and where, two pictures of the same size differ. */
export interface ImageDifference {
  /** SSIM of Wang et al. (2004) on luma, rounded down to four digits; 1 when the pictures are identical. */
  ssim: number;
  /** Score of SSIMULACRA 2, rounded down to two digits; 100 when the pictures are identical. */
  ssimulacra2?: number;
  /** The share of the pixels that differ by more than 8 of 255 in a channel. */
  changedShare: number;
  /** The largest difference of any channel, 0 to 255. */
  maxDifference: number;
  /** The number of bits in which the perceptual hashes differ, 0 to 64. */
  hashDistance: number;
  /** Boxes of changed pixels, in pixels of the picture: at most 100, the largest first. */
  regions: Array<{ x: number; y: number; width: number; height: number }>;
}

export interface CompareTaskResult {
  kind: 'compared';
  difference: ImageDifference;
  timings: PassTimings;
}

/** A refusal by a thread. `param` is relative to the pass, such as `frame` or `steps[1].params.width`. */
export interface TaskFailure {
  kind: 'failure';
  code: 'invalid_param' | 'unsupported_format' | 'internal_error';
  message: string;
  param?: string;
  details?: Record<string, unknown>;
  /**
   * The share of its pixels that a failed search could have handled within its time and its byte limit; absent if it
   * was not measured.
   */
  doableShare?: number;
  leavesWork?: LeftWork;
}

/** Whether a pass failed because the deadline passed. */
export function isLateFailure({ details }: TaskFailure): boolean {
  return details?.reason === 'deadline_exceeded';
}

/** Whether a pass gave up because another format will make a smaller file. */
export function isOutdoneFailure({ details }: TaskFailure): boolean {
  return details?.reason === 'outdone';
}

export type ImageTaskResult =
  | TransformTaskResult
  | BranchTaskResult
  | DescribeTaskResult
  | CompareTaskResult
  | TaskFailure;
