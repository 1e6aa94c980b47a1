import { operationNamed } from '../../../../workers/image/operations/index.ts';
import type { OutputFormat, Pass } from '../../../../workers/protocol.ts';
import { MEGABYTE } from '../../../platform/values/units.ts';
import type { Header } from '../header/header.ts';
import {
  encodeOf,
  framesOf,
  type LayerHeaders,
  layerHeadersOf,
  type Size,
  sizesOf,
  skippingBatches,
} from './following.ts';

/*
 * Bytes per pixel, as measured with files of 25 megapixels (sharp 0.35, one thread): a thumbnail of a JPEG, WebP or PNG
 * streams and takes next to nothing; of an AVIF 18, of a progressive JPEG or interlaced PNG 3; a rotation by any angle
 * 15, every other operation that reads more than a line 3; and each encoder keeps its whole picture.
 */
const BASE_BYTES = 16 * MEGABYTE;
const AVIF_DECODE_BYTES_PER_PIXEL = 18;
const DESCRIBE_BYTES_PER_PIXEL = 4;
/** A file that is done, which most encoders keep below this. */
const FILE_BYTES_PER_PIXEL = 1;
const ENCODE_BYTES_PER_PIXEL: Readonly<Record<OutputFormat, number>> = {
  jpeg: 7,
  png: 6,
  webp: 15,
  avif: 35,
  gif: 5,
  tiff: 2,
};

/** A second picture is decoded as a whole, with transparency. */
const LAYER_BYTES_PER_PIXEL = 4;

/**
 * Memory that passes over one file, one after another, are estimated to take at their peak; none is a description.
 * @param layers the second pictures that they read.
 */
export function estimatedBytes(header: Header, passes: readonly Pass[], layers: LayerHeaders = {}): number {
  if (passes.length === 0) return BASE_BYTES + decodeBytes(header) + header.pixels * DESCRIBE_BYTES_PER_PIXEL;
  const peak = Math.max(...passes.map((pass) => peakBytes(header, pass) + layerBytes(pass, layers)));
  return passes.length === 1 ? peak : peak + sharedBytes(header, passes);
}

/** What several passes hold beside the running one: the shared picture, and the files that are done. */
function sharedBytes(header: Header, passes: readonly Pass[]): number {
  const files = passes.map((pass) => {
    const { width, height } = sizesOf(header, pass).at(-1) ?? header;
    return width * height * framesOf(header, pass) * FILE_BYTES_PER_PIXEL;
  });
  const frames = Math.max(...passes.map((pass) => framesOf(header, pass)));
  const shared = header.width * header.height * frames * bytesPerPixel(header);
  return shared + files.reduce((sum, bytes) => sum + bytes, 0);
}

function peakBytes(header: Header, pass: Pass): number {
  const decode = BASE_BYTES + decodeBytes(header);
  const skipping = skippingBytes(header, pass);
  const sizes = sizesOf(header, pass);
  const last = sizes.at(-1) ?? header;
  const encode = last.width * last.height * ENCODE_BYTES_PER_PIXEL[encodeOf(header, pass).format];
  return decode + skipping + largestCopies(header, pass, sizes) + encode;
}

/** The largest second picture while it is decoded: the others are laid over before it or after it. */
function layerBytes(pass: Pass, layers: LayerHeaders): number {
  const each = layerHeadersOf(pass, layers).map(
    (layer) => decodeBytes(layer) + layer.width * layer.height * LAYER_BYTES_PER_PIXEL,
  );
  return Math.max(0, ...each);
}

function decodeBytes(header: Header): number {
  if (header.format === 'avif') return header.pixels * AVIF_DECODE_BYTES_PER_PIXEL;
  // A page that is rewritten is held as its samples, as its pixels, and as a file.
  if (header.rewritten) return 3 * header.pixels * bytesPerPixel(header);
  return header.progressive ? header.pixels * bytesPerPixel(header) : 0;
}

/** The kept frames, twice while they are joined, and the batch that is decoded, if frames in between are left out. */
function skippingBytes(header: Header, pass: Pass): number {
  const batches = skippingBatches(header, pass);
  if (batches === undefined) return 0;
  const largest = Math.max(...batches.map(({ count }) => count));
  return header.width * header.height * bytesPerPixel(header) * (2 * framesOf(header, pass) + largest);
}

function bytesPerPixel({ channels, bitDepth }: Header): number {
  return Math.max(3, channels) * Math.max(1, bitDepth / 8);
}

/** The bytes of the largest copies between decoding and encoding. */
function largestCopies(header: Header, pass: Pass, sizes: readonly Size[]): number {
  const { steps } = pass;
  // A page of a document is rewritten beside the others.
  const frames = header.animated ? framesOf(header, pass) : header.frames;
  const bytesOf = ({ width, height }: Size, copies: number) =>
    copies * width * height * frames * bytesPerPixel(header);
  const ofSteps = steps.map(({ operation: name, params }, index) => {
    const operation = operationNamed(name);
    return bytesOf(sizes[index] ?? header, operation?.kind === 'step' ? operation.copies(params) : 0);
  });
  return Math.max(bytesOf(header, turnedCopies(header, pass)), ...ofSteps);
}

/**
 * The copies that it takes to turn the picture upright. A still picture can be made smaller before it is turned; an
 * animation is taken apart, turned frame by frame, and put together again.
 */
function turnedCopies(header: Header, pass: Pass): number {
  if (header.orientation === 1) return 0;
  if (framesOf(header, pass) > 1) return 3;
  return pass.steps[0]?.operation === 'resize' ? 0 : 1;
}
