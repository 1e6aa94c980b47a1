import type { Bytes } from './bytes.ts';
import { validOrientation } from './exif.ts';
import type { Header } from './facts.ts';

const TAG = {
  width: 256,
  height: 257,
  bitsPerSample: 258,
  orientation: 274,
  samples: 277,
  extraSamples: 338,
} as const;
const SHORT = 3;
const LONG = 4;
const LONG8 = 16;
const BYTES_OF_TYPE: Readonly<Record<number, number>> = { 1: 1, [SHORT]: 2, [LONG]: 4, [LONG8]: 8 };

/** The two layouts of a directory: classic, and BigTIFF with 8-byte offsets. */
interface Layout {
  littleEndian: boolean;
  isBig: boolean;
  first: number;
}

interface Directory {
  /** First value of each tag that is a whole number; of a repeated tag the first stands. */
  tags: Map<number, number>;
  next: number;
}

/**
 * Walks the chain of directories, one a page. Directories may overlap, so that a small file could hold many large
 * ones: the walk ends, and the file is refused, when more entries were read than the file has room for.
 */
export function readTiff(bytes: Bytes): Header | null {
  const layout = readLayout(bytes);
  if (layout === null) return null;
  const seen = new Set<number>();
  let first: Header | null = null;
  let frames = 0;
  let pixels = 0;
  let entriesLeft = bytes.length / 12;
  for (let at = layout.first; at !== 0 && !seen.has(at); frames += 1) {
    bytes.step();
    seen.add(at);
    if (at + 8 > bytes.length) break;
    const entries = entryCount(bytes, layout, at);
    if (entries === 0) break;
    entriesLeft -= entries;
    if (entriesLeft < 0) return null;
    const directory = readDirectory(bytes, layout, at, entries);
    const page = pageOf(directory.tags);
    first ??= page;
    pixels += page.pixels;
    at = directory.next;
  }
  return first === null ? null : { ...first, frames, pixels };
}

function readLayout(bytes: Bytes): Layout | null {
  const order = bytes.text(0, 2);
  if (order !== 'II' && order !== 'MM') return null;
  const littleEndian = order === 'II';
  const version = bytes.u16(2, littleEndian);
  if (version === 42) return { littleEndian, isBig: false, first: bytes.u32(4, littleEndian) };
  if (version === 43) return { littleEndian, isBig: true, first: bytes.u64(8, littleEndian) };
  return null;
}

function entryCount(bytes: Bytes, { littleEndian, isBig }: Layout, at: number): number {
  return isBig ? bytes.u64(at, littleEndian) : bytes.u16(at, littleEndian);
}

function readDirectory(bytes: Bytes, layout: Layout, at: number, entries: number): Directory {
  const { littleEndian, isBig } = layout;
  const entryBytes = isBig ? 20 : 12;
  const start = at + (isBig ? 8 : 2);
  const end = start + entries * entryBytes;
  const tags = new Map<number, number>();
  for (let entry = start; entry < end; entry += entryBytes) {
    const tag = bytes.u16(entry, littleEndian);
    const value = tags.has(tag) ? null : firstValue(bytes, layout, entry);
    if (value !== null) tags.set(tag, value);
  }
  const nextBytes = isBig ? 8 : 4;
  if (end + nextBytes > bytes.length) return { tags, next: 0 };
  return { tags, next: isBig ? bytes.u64(end, littleEndian) : bytes.u32(end, littleEndian) };
}

/** The values stand in the entry when they fit there, else where it points to. */
function firstValue(bytes: Bytes, { littleEndian, isBig }: Layout, entry: number): number | null {
  const type = bytes.u16(entry + 2, littleEndian);
  const size = BYTES_OF_TYPE[type];
  if (size === undefined) return null;
  const count = isBig ? bytes.u64(entry + 4, littleEndian) : bytes.u32(entry + 4, littleEndian);
  const room = isBig ? 8 : 4;
  const inline = entry + (isBig ? 12 : 8);
  const pointed = isBig ? bytes.u64(inline, littleEndian) : bytes.u32(inline, littleEndian);
  const at = count * size <= room ? inline : pointed;
  if (at + size > bytes.length) return null;
  if (type === SHORT) return bytes.u16(at, littleEndian);
  if (type === LONG) return bytes.u32(at, littleEndian);
  return type === LONG8 ? bytes.u64(at, littleEndian) : bytes.u8(at);
}

function pageOf(tags: Map<number, number>): Header {
  const [width, height] = [tags.get(TAG.width) ?? 0, tags.get(TAG.height) ?? 0];
  return {
    format: 'tiff',
    mimeType: 'image/tiff',
    width,
    height,
    frames: 1,
    pixels: width * height,
    orientation: validOrientation(tags.get(TAG.orientation) ?? 1),
    bitDepth: tags.get(TAG.bitsPerSample) ?? 1,
    channels: tags.get(TAG.samples) ?? 1,
    hasAlpha: tags.has(TAG.extraSamples),
    progressive: false,
    animated: false,
  };
}
