import { Bytes } from '../../formats/bytes.ts';
import { APP0, APP1, APP2, APP13, JPEG_HEAD_BYTES, jpegSegment, jpegSegments } from '../../formats/jpeg.ts';
import {
  IPTC_RESOURCE,
  iptcDatasets,
  isPhotoshopBlock,
  photoshopBlock,
  photoshopResources,
} from '../../formats/photoshop.ts';
import { holdsPicture } from './embedded-pictures.ts';

/**
 * IPTC-IIM (version 4.2): picture agencies read it where others read EXIF and XMP. A JPEG stores it in a Photoshop
 * resource, a TIFF as a tag.
 */

/** Dataset numbers of the two fields, and the maximum lengths of their texts in bytes, as IPTC-IIM defines them. */
const BY_LINE = { number: 80, longestBytes: 32 };
const COPYRIGHT_NOTICE = { number: 116, longestBytes: 128 };
/** Declares the texts as UTF-8: escape, %, G in dataset 1:90. */
const UTF8 = Buffer.from([0x1c, 1, 90, 0, 3, 0x1b, 0x25, 0x47]);

/** The record of the texts that describe a picture, and that of the envelope, which names their encoding. */
const [ENVELOPE, APPLICATION] = [1, 2];
/** The first of three numbers of the application record that hold a preview. */
const PREVIEW = 200;
/** A JPEG holds it in one segment. */
const MAX_BYTES = 60_000;

/**
 * The IPTC that a result carries: the texts, without a preview, and without the other resources of Photoshop, one of
 * which is a thumbnail.
 * @param block the datasets, or a Photoshop block that holds them.
 */
export function carriedIptc(block: Uint8Array): Buffer | undefined {
  const bytes = new Bytes(datasetsOf(block));
  const kept: Uint8Array[] = [];
  for (const { record, number, at, start, end, truncated } of iptcDatasets(bytes)) {
    const isText = record === ENVELOPE || (record === APPLICATION && number < PREVIEW);
    if (isText && !truncated && !holdsPicture(bytes.slice(start, end))) kept.push(bytes.slice(at, end));
  }
  const iptc = Buffer.concat(kept);
  return iptc.length === 0 || iptc.length > MAX_BYTES ? undefined : iptc;
}

function datasetsOf(block: Uint8Array): Uint8Array {
  const bytes = new Bytes(block);
  if (!isPhotoshopBlock(bytes)) return block;
  for (const { number, start, end } of photoshopResources(bytes))
    if (number === IPTC_RESOURCE) return bytes.slice(start, end);
  return new Uint8Array();
}

/** The rights fields as IPTC; undefined when there are no texts. */
export function iptcOf(byLines: readonly string[], notices: readonly string[]): Buffer | undefined {
  const sets = [
    ...byLines.map((text) => dataset(BY_LINE, text)),
    ...notices.map((text) => dataset(COPYRIGHT_NOTICE, text)),
  ];
  return sets.length === 0 ? undefined : Buffer.concat([UTF8, ...sets]);
}

function dataset({ number, longestBytes }: typeof BY_LINE, text: string): Buffer {
  const cut = Buffer.from(text).subarray(0, longestBytes);
  // A character that was cut in half is removed.
  const value = Buffer.from(cut.toString().replace(/\uFFFD+$/, ''));
  return Buffer.concat([Buffer.from([0x1c, 2, number, 0, value.length]), value]);
}

/** Segments that describe how to read a JPEG: JFIF, EXIF or XMP, and the profile. */
const LEADING = [APP0, APP1, APP2];

/** A JPEG with an IPTC segment after the segments that describe how to read it. */
export function withIptc(jpeg: Uint8Array<ArrayBuffer>, iptc: Buffer): Uint8Array<ArrayBuffer> {
  let at = JPEG_HEAD_BYTES;
  for (const { marker, next } of jpegSegments(new Bytes(jpeg))) {
    if (!LEADING.includes(marker)) break;
    at = next;
  }
  const segment = jpegSegment(APP13, photoshopBlock(IPTC_RESOURCE, iptc));
  return Buffer.concat([jpeg.subarray(0, at), segment, jpeg.subarray(at)]);
}
