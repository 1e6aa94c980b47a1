import type { Bytes } from '../../../../workers/formats/bytes.ts';
import { tiffPages } from '../../../../workers/formats/tiff.ts';
import { isForeign, TAG, type TiffPage, tiffPage } from '../../../../workers/formats/tiff-page.ts';
import { present } from '../../../platform/values/present.ts';
import { type Header, headerOf, validOrientation } from './facts.ts';
import { unreadTiff } from './unread-tiff.ts';

/** Null when the directory of a page is truncated: its size is then unknown. */
export function readTiff(bytes: Bytes): Header | null {
  let first: Header | null = null;
  let frames = 0;
  let pixels = 0;
  for (const directory of tiffPages(bytes)) {
    if (directory.truncated) return null;
    const page = headerOfPage(tiffPage(bytes, directory));
    first ??= page;
    frames += 1;
    pixels += page.pixels;
  }
  return first === null ? null : { ...first, frames, pixels };
}

function headerOfPage(page: TiffPage): Header {
  return headerOf({
    format: 'tiff',
    width: page.width,
    height: page.height,
    orientation: validOrientation(page.orientation),
    bitDepth: page.bits,
    channels: page.samples,
    hasAlpha: page.entries.has(TAG.extraSamples),
    ...present({ unread: unreadTiff(page) }),
    ...(isForeign(page) && { rewritten: true }),
  });
}
