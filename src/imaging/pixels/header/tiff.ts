import type { Bytes } from '../../../../workers/formats/bytes.ts';
import { firstNumber, type TiffDirectory, tiffPages } from '../../../../workers/formats/tiff.ts';
import { validOrientation } from './exif.ts';
import { type Header, headerOf } from './facts.ts';

const TAG = {
  width: 256,
  height: 257,
  bitsPerSample: 258,
  orientation: 274,
  samples: 277,
  extraSamples: 338,
} as const;
/** Null when the directory of a page is truncated: its size is then unknown. */
export function readTiff(bytes: Bytes): Header | null {
  let first: Header | null = null;
  let frames = 0;
  let pixels = 0;
  for (const directory of tiffPages(bytes)) {
    if (directory.truncated) return null;
    const page = pageOf(numbersOf(bytes, directory));
    first ??= page;
    frames += 1;
    pixels += page.pixels;
  }
  return first === null ? null : { ...first, frames, pixels };
}

/** The first value of each tag that is a whole number; of a repeated tag, the first such value. */
function numbersOf(bytes: Bytes, directory: TiffDirectory): Map<number, number> {
  const numbers = new Map<number, number>();
  for (const entry of directory.entries) {
    const number = numbers.has(entry.tag) ? undefined : firstNumber(bytes, directory, entry);
    if (number !== undefined) numbers.set(entry.tag, number);
  }
  return numbers;
}

function pageOf(tags: Map<number, number>): Header {
  return headerOf({
    format: 'tiff',
    width: tags.get(TAG.width) ?? 0,
    height: tags.get(TAG.height) ?? 0,
    orientation: validOrientation(tags.get(TAG.orientation) ?? 1),
    bitDepth: tags.get(TAG.bitsPerSample) ?? 1,
    channels: tags.get(TAG.samples) ?? 1,
    hasAlpha: tags.has(TAG.extraSamples),
  });
}
