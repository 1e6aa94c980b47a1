import fc from 'fast-check';
import sharp, { type Metadata } from 'sharp';
import { readImageHeader } from '../../../src/imaging/images/header/header.ts';
import { isoBoxes } from '../../../workers/formats/boxes.ts';
import { ByteReader } from '../../../workers/formats/bytes.ts';
import { gifBlocks } from '../../../workers/formats/gif.ts';
import {
  findHeifMetaBox,
  heifAssociations,
  heifItems,
  heifReferences,
  readAvifColours,
} from '../../../workers/formats/heif.ts';
import { jpegSegments } from '../../../workers/formats/jpeg.ts';
import { type ContainerPart, TooManyPartsError } from '../../../workers/formats/parts.ts';
import { buildPhotoshopBlock, iptcDatasets, photoshopResources } from '../../../workers/formats/photoshop.ts';
import { pngChunks, readPngColours } from '../../../workers/formats/png.ts';
import { webpChunks } from '../../../workers/formats/riff.ts';
import { exifDirectories, type TiffDirectory, tiffPageDirectories } from '../../../workers/formats/tiff.ts';
import { isBareFile } from '../../../workers/image/encode/bare-file.ts';
import { withoutBulkyTags } from '../../../workers/image/metadata/edited-exif.ts';
import { readImageTags } from '../../../workers/image/metadata/tags.ts';
import { carriedXmp } from '../../../workers/image/metadata/xmp.ts';
import { longXmpSegments, secondXmpPacket, xmpPacket } from '../../../workers/image/metadata/xmp-packets.ts';
import { avifOf, gifOf, jpegOf, pngOf, tiffOf, webpOf } from '../../imaging/images/files.ts';
import { hasImages, image, imagesIn } from '../../support/images.ts';
import { type Mutated, mutationsOf, type Original } from './mutations.ts';
import { bounded, walked } from './walks.ts';

/** Larger files test nothing more, and take longer. */
const MAX_ORIGINAL_BYTES = 64 * 1024;
const WALKS_TIMED = 5;
/** Datasets of the usual and of the long form. */
const IPTC = Buffer.from('\x1c\x02\x50\0\x03abc\x1c\x02\x74\x80\x04\0\0\0\x02de', 'latin1');
const FOLDERS = ['animated', 'hostile', 'modern', 'orientation', 'photos', 'pngsuite'];

/** A walker, the files that it is tried on, and the assertions on each mutation of them. */
export interface Target {
  name: string;
  originals: readonly Original[];
  /** @throws AssertionError */
  holds(file: Uint8Array): void;
  /** The walk alone, to be timed. */
  parts(bytes: ByteReader): Iterable<unknown>;
}

export interface Fuzzed {
  name: string;
  runs: number;
  /**
   * The slowest walk over a file of a megabyte or more, in milliseconds of processor time per megabyte; 0 without
   * such a file.
   */
  slowestMs: number;
  /** The failed assertion, with its seed and its file; undefined when all passed. */
  find?: string;
}

/** A target for each walker. */
export async function targets(): Promise<Target[]> {
  const create = { width: 20, height: 10, channels: 3, background: '#369' } as const;
  const made = sharp({ create }).withExif({ IFD0: { Artist: 'A person' }, IFD3: { GPSLatitudeRef: 'N' } });
  const [jpeg, tiff, bigTiff] = await Promise.all([
    made.clone().jpeg({ progressive: true }).toBuffer(),
    made.clone().tiff().toBuffer(),
    made.clone().tiff({ bigtiff: true }).toBuffer(),
  ]);
  const { exif = Buffer.alloc(0) } = await sharp(jpeg).metadata();
  const tiffs = [
    ...filesNamed(/\.tiff?$/),
    tiffOf({ width: 3, height: 2 }, { width: 5, height: 4 }),
    tiff,
    bigTiff,
  ];
  const pngs = [...filesNamed(/\.png$/), pngOf(3, 2)];
  const heifs = [...filesNamed(/\.(avif|heic)$/), avifOf(3, 2)];
  const told = [...filesNamed(/\.jpe?g$/), jpeg, ...pngs, ...heifs, ...filesNamed(/\.(webp|gif)$/)];
  return [
    inParts('png', pngs, pngChunks),
    inParts('jpeg', [...filesNamed(/\.jpe?g$/), jpegOf(3, 2), jpeg], jpegSegments),
    inParts('gif', [...filesNamed(/\.gif$/), gifOf(3, 2, 3)], gifBlocks),
    inParts('riff', [...filesNamed(/\.webp$/), webpOf(3, 2, 3)], webpChunks),
    inParts('photoshop', [buildPhotoshopBlock(0x0404, IPTC)], photoshopResources),
    inParts('iptc', [IPTC], iptcDatasets),
    inParts('boxes', heifs, isoBoxes, boxOffsets),
    targetOf('heif', heifs, heifParts, (file) => bounded(file, heifParts), boxOffsets),
    targetOf('colours of a png', pngs, coloursOfPng, (file) => bounded(file, coloursOfPng), pngOffsets),
    targetOf('colours of an avif', heifs, coloursOfAvif, (file) => bounded(file, coloursOfAvif), boxOffsets),
    inDirectories('tiff pages', tiffs, tiffPageDirectories),
    inDirectories('exif', [exif.subarray(6), ...tiffs], exifDirectories),
    targetOf('tags', told, tagsIn, (file) => tagsIn(new ByteReader(file)), headOffsets),
  ];
}

function filesNamed(pattern: RegExp): Uint8Array[] {
  const names = hasImages ? FOLDERS.flatMap(imagesIn).filter((name) => pattern.test(name)) : [];
  return names.map(image).filter(({ length }) => length <= MAX_ORIGINAL_BYTES);
}

function inParts(
  name: string,
  files: readonly Uint8Array[],
  walk: (bytes: ByteReader) => Iterable<ContainerPart>,
  offsetsOf = (bytes: ByteReader) => [0, ...[...walk(bytes)].map(({ at }) => at)],
): Target {
  return targetOf(name, files, walk, (file) => walked(file, walk), offsetsOf);
}

/** All entries of a meta box about items. */
function* heifParts(bytes: ByteReader): Generator<unknown> {
  const meta = findHeifMetaBox(bytes);
  if (meta === undefined) return;
  yield* heifItems(bytes, meta);
  yield* heifReferences(bytes, meta);
  yield* heifAssociations(bytes, meta);
}

function coloursOfPng(bytes: ByteReader): unknown[] {
  return [readAll(() => readPngColours(bytes))];
}

function coloursOfAvif(bytes: ByteReader): unknown[] {
  return [readAll(() => readAvifColours(bytes))];
}

/** The tags of a file, and the XMP that is carried of it. A JPEG says itself where its XMP is. */
function tagsIn(bytes: ByteReader): unknown[] {
  const file = new Uint8Array(bytes.slice(0, bytes.length));
  const format = readImageHeader(file)?.format;
  if (format === undefined || format === 'svg') return [];
  const header = { format, ...(format === 'jpeg' && { xmp: Buffer.alloc(0) }) } as unknown as Metadata;
  const packet = xmpPacket(file, header);
  const second = packet && secondXmpPacket(file, header, packet);
  const carried = packet && carriedXmp(packet, { movesPixels: true, second });
  return [readImageTags(file, header), carried && longXmpSegments(carried)];
}

function headOffsets(bytes: ByteReader): number[] {
  return [0, ...[...jpegSegments(bytes)].map(({ at }) => at)];
}

/** What a reader reads, or that it read past the end of the file, which ends the reading. */
function readAll<R>(read: () => R): R | 'past the end' {
  try {
    return read();
  } catch (error) {
    if (error instanceof RangeError && !(error instanceof TooManyPartsError)) return 'past the end';
    throw error;
  }
}

function pngOffsets(bytes: ByteReader): number[] {
  return [...pngChunks(bytes)].map(({ at }) => at);
}

/** Most faults of boxes are possible only inside the meta box. */
function boxOffsets(bytes: ByteReader): number[] {
  const meta = findHeifMetaBox(bytes);
  const below = meta === undefined ? [] : [...isoBoxes(bytes, meta)];
  const further = below.flatMap((box) => (box.type === 'iprp' ? [...isoBoxes(bytes, box)] : []));
  return [...isoBoxes(bytes), ...below, ...further].map(({ at }) => at);
}

function inDirectories(
  name: string,
  files: readonly Uint8Array[],
  walk: (bytes: ByteReader) => Iterable<TiffDirectory>,
): Target {
  const offsetsOf = (bytes: ByteReader) => [
    0,
    ...[...walk(bytes)].flatMap(({ at, entries, nextAt }) => [
      at,
      ...entries.map((entry) => entry.at),
      nextAt ?? at,
    ]),
  ];
  return targetOf(name, files, walk, (file) => bounded(file, walk), offsetsOf);
}

/** The callers of the walker are tested as well: they throw nothing. */
function targetOf<P>(
  name: string,
  files: readonly Uint8Array[],
  walk: (bytes: ByteReader) => Iterable<P>,
  holds: (file: Uint8Array) => unknown,
  offsetsOf: (bytes: ByteReader) => number[],
): Target {
  return {
    name,
    originals: files.map((file, index) => ({
      name: `${name} ${index}`,
      file,
      offsets: offsetsOf(new ByteReader(file)),
    })),
    holds(file) {
      holds(file);
      const format = readImageHeader(file)?.format;
      if (format !== undefined && format !== 'svg') isBareFile(file, format === 'heif' ? 'avif' : format);
      withoutBulkyTags(file);
    },
    parts: walk,
  };
}

/**
 * Tries a target for a time. The seed of a find makes the same files again.
 * @param seed 32 bits.
 */
export function fuzz(target: Target, milliseconds: number, seed: number): Fuzzed {
  let slowestMs = 0;
  let runs = 0;
  const property = fc.property(mutationsOf(target.originals), ({ file }: Mutated) => {
    runs += 1;
    target.holds(file);
    if (file.length >= 1024 * 1024)
      slowestMs = Math.max(slowestMs, timeOf(target, file) / (file.length / 1024 ** 2));
  });
  const details = fc.check(property, {
    seed,
    numRuns: Number.MAX_SAFE_INTEGER,
    interruptAfterTimeLimit: milliseconds,
    markInterruptAsFailure: false,
  });
  return {
    name: target.name,
    runs,
    slowestMs,
    ...(details.failed && { find: fc.defaultReportMessage(details) ?? `It failed with seed ${seed}.` }),
  };
}

/**
 * Processor time of a walk in milliseconds, the best of three: other work of the machine makes a walk slower, and
 * nothing makes it faster. Kernels may count that time in ticks of 4 ms, so each of the three is the mean of several
 * walks.
 */
function timeOf(target: Target, file: Uint8Array): number {
  const times = [0, 1, 2].map(() => {
    const before = process.threadCpuUsage();
    for (let walk = 0; walk < WALKS_TIMED; walk += 1) walkThrough(target, file);
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1_000 / WALKS_TIMED;
  });
  return Math.min(...times);
}

function walkThrough({ parts }: Target, file: Uint8Array): void {
  try {
    const walk = parts(new ByteReader(file))[Symbol.iterator]();
    while (walk.next().done !== true);
  } catch (error) {
    if (!(error instanceof TooManyPartsError)) throw error;
  }
}
