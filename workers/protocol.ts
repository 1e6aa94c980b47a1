/**
 * What crosses between an API process and its threads: plain data, structured-cloned, buffers transferred.
 * Both sides import this page; neither imports the other.
 * Pages have a page of their own in render/protocol.ts, and vector drawings in vector/protocol.ts.
 */

/** The most that an image may hold, in pixels: width × height × frames of the file. */
export const LIMIT_PIXELS = 50_000_000;

/** One step of a pass: a registry operation and its checked arguments (see image/operations). */
export interface Step {
  operation: string;
  params: Record<string, unknown>;
}

export type OutputFormat = 'jpeg' | 'png' | 'webp' | 'avif' | 'gif' | 'tiff';
export type MetadataPolicy = 'strip' | 'keep' | 'copyright';

/** How the input is read. */
export interface Decode {
  /** Which frames; absent: `all` when input and output can both move and every step works frame by frame, else `first`. */
  frame?: 'first' | 'all' | number;
  /** Dots per inch for vector input, 1 to 2400. */
  density?: number;
}

/** How the result is written. Absent fields take the encoder's defaults. */
export interface Encode {
  /** Absent: the input's format when it can be written, else png. */
  format?: OutputFormat;
  quality?: number;
  lossless?: boolean;
  /** 0 to 9, scaled to the encoder. */
  effort?: number;
  metadata?: MetadataPolicy;
  /** CSS colour under transparent pixels of a format without alpha. */
  background?: string;
  progressive?: boolean;
  palette?: boolean;
  colors?: number;
  chroma?: '4:2:0' | '4:4:4';
  /** Search for the smallest file that keeps one of these. */
  target?: { maxBytes: number } | { minSsim: number } | { ssimulacra2: number };
}

/** One pass: decode once, the steps in order, encode once. */
export interface Pass {
  decode: Decode;
  steps: Step[];
  encode: Encode;
}

/** What a search for a target came to; of each, what applies to the format and the target. */
export interface Achieved {
  quality?: number;
  /** SSIM of Wang et al. (2004) on luma, rounded down to four digits. */
  ssim?: number;
  /** SSIMULACRA 2, rounded down to two digits. */
  ssimulacra2?: number;
  bytes: number;
  /** Files that were written and measured; 0 where the input itself reaches the target. */
  trials: number;
}

/** What `input` is when it is no file but 8-bit sRGB pixels, row by row: a vector drawing, already rasterized. */
export interface RawPixels {
  width: number;
  height: number;
  /** RGBA, alpha not premultiplied. */
  channels: 4;
}

/**
 * What the sender has read from the header of a still JPEG, PNG or WebP. It saves the thread a reading of its own, a sixth
 * of the cost of a small picture; without it the thread reads. Other formats, and animations, the thread reads always. It
 * has to be what the codec reads: no refusal rests on it alone, but sizes are computed from it.
 */
export interface InputHeader {
  format: 'jpeg' | 'png' | 'webp';
  /** As stored, before EXIF orientation. */
  width: number;
  height: number;
  /** EXIF value, 1 to 8; 1 when absent. */
  orientation: number;
  /** Transparency of any kind, a PNG's tRNS chunk included. */
  hasAlpha: boolean;
  /** A single channel beside alpha. */
  isGrey: boolean;
  /** A palette, or fewer than 8 bits of grey. */
  isIndexed: boolean;
  bitDepth: number;
}

/** What a file's colours mean where it names them by code points (ITU-T H.273): nclx in an AVIF, cICP in a PNG. */
export interface Cicp {
  primaries: number;
  transfer: number;
}

/** What the sender has read from a header that the codec does not tell, or tells wrongly. */
export interface Readings {
  cicp?: Cicp;
  /** Pictures of an AVIF; the codec counts the tiles of a grid as well. */
  pictures?: number;
}

export interface TransformTask extends Readings {
  kind: 'transform';
  /** Owned by the task: transferred, never touched again by the sender. */
  input: Uint8Array<ArrayBuffer>;
  raw?: RawPixels;
  header?: InputHeader;
  pass: Pass;
  /** The files of the second assets that steps read, by asset id. */
  layers?: Record<string, Uint8Array>;
  /** The result is described as well. Not for an input with `cicp`: a result that is the input itself would need it again. */
  describes?: true;
  /** Epoch milliseconds after which the answer is of no use. */
  deadlineMs: number;
}

/** Reads everything the metadata endpoint tells about an image. */
export interface DescribeTask extends Readings {
  kind: 'describe';
  input: Uint8Array<ArrayBuffer>;
  /** With raw pixels, the facts about a file (format, mimeType, bytes, sha1, metadata) are left to the sender. */
  raw?: RawPixels;
  deadlineMs: number;
}

/** Compares two pictures of one size. */
export interface CompareTask {
  kind: 'compare';
  input: Uint8Array<ArrayBuffer>;
  raw?: RawPixels;
  other: Uint8Array<ArrayBuffer>;
  otherRaw?: RawPixels;
  deadlineMs: number;
}

export type ImageTask = TransformTask | DescribeTask | CompareTask;

/**
 * The codec streams: decoding, the steps and the last encoding of a pass are one sweep over the picture, told as
 * processMs. decodeMs is what was spent on opening the input before it, encodeMs on trial encodings after it.
 */
export interface Timings {
  decodeMs: number;
  processMs: number;
  encodeMs: number;
}

/** What a picture looks like in a few letters. */
export interface PictureHashes {
  /** Base64. */
  thumbhash: string;
  blurhash: string;
}

/** What the caller of a pass should know of its result, though it succeeded. */
export interface PassWarning {
  code: 'not_enlarged' | 'larger_than_input';
  /** not_enlarged: the width, or the height, that the picture has instead. */
  name?: string;
}

export interface Transformed {
  kind: 'transformed';
  data: Uint8Array<ArrayBuffer>;
  contentType: string;
  width: number;
  /** Of one frame. */
  height: number;
  /** There where the pass reaches a target. */
  achieved?: Achieved;
  /** Bits of a channel of the result, there where more than 8 came in. */
  bitDepth?: 8 | 16;
  /** Of the picture that a placeholder stands for. */
  hashes?: PictureHashes;
  /** There where there are some. */
  warnings?: PassWarning[];
  /** There where the task asked for it, and the result could be read again. */
  facts?: Pick<Described, 'image' | 'metadata'>;
  timings: Timings;
}

/** The image object of the interface, without anything of the store. */
export interface ImageFacts {
  mimeType: string;
  format: string;
  /** As displayed, that is after EXIF orientation. */
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
  /** Base64. */
  thumbhash: string;
  blurhash: string;
}

export interface Described {
  kind: 'described';
  image: ImageFacts;
  /** Tags read from the file under their own names, grouped (`exif`, `iptc`, `xmp`, `icc`, `png`, …). No binary values. */
  metadata: Record<string, Record<string, unknown>>;
  timings: Timings;
}

/** How two pictures differ. */
export interface Difference {
  /** SSIM of Wang et al. (2004) on luma, rounded down to four digits; 1 when they are the same. */
  ssim: number;
  /** Share of the pixels of which a channel differs by more than 8 of 255. */
  changedShare: number;
  /** Largest difference of a channel, 0 to 255. */
  maxDifference: number;
  /** Where changed pixels are, in pixels of the picture; at most 100, the largest first. */
  regions: Array<{ x: number; y: number; width: number; height: number }>;
}

export interface Compared {
  kind: 'compared';
  difference: Difference;
  timings: Timings;
}

/** A refusal born in a thread. `param` is relative to the pass, such as `frame` or `steps[1].params.width`. */
export interface Failure {
  kind: 'failure';
  code: 'invalid_param' | 'unsupported_format' | 'internal_error';
  message: string;
  param?: string;
  details?: Record<string, unknown>;
}

export type ImageResult = Transformed | Described | Compared | Failure;

/** How a task is sent to a child process: the bytes of its input follow on the data pipe. */
export interface ProcessTask<Task> {
  task: Omit<Task, 'input'>;
  sizeBytes: number;
}

/** How a child process answers a task: the bytes of the result follow on its data pipe. */
export interface ProcessAnswer<Reply> {
  reply: Reply;
  sizeBytes: number;
}
