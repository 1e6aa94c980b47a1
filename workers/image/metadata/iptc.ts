import { ByteReader } from '../../formats/bytes.ts';
import { buildJpegSegment, JPEG_MARKERS } from '../../formats/jpeg.ts';
import {
  buildPhotoshopBlock,
  IPTC_RESOURCE_NUMBER,
  iptcDatasets,
  isPhotoshopBlock,
  photoshopResources,
} from '../../formats/photoshop.ts';
import { containsPicture } from './embedded-pictures.ts';

/**
 * IPTC-IIM (version 4.2), which picture agencies read where others read EXIF and XMP. A JPEG stores it in a Photoshop
 * resource, a TIFF as a tag.
 */

/**
 * The dataset numbers of the two rights fields, and the maximum lengths of their texts in bytes, as IPTC-IIM defines
 * them.
 */
const BY_LINE_DATASET = { number: 80, maxBytes: 32 };
const COPYRIGHT_NOTICE_DATASET = { number: 116, maxBytes: 128 };
/** Declares the texts as UTF-8: the escape sequence `ESC % G` in dataset 1:90. */
const UTF8_DECLARATION = Buffer.from([0x1c, 1, 90, 0, 3, 0x1b, 0x25, 0x47]);

/**
 * The numbers of two IPTC records. The envelope record names the encoding of texts, and the application record holds
 * the texts that describe a picture.
 */
const [ENVELOPE_RECORD, APPLICATION_RECORD] = [1, 2];
/** The first of the three dataset numbers of the application record that hold a preview. */
const FIRST_PREVIEW_DATASET = 200;
/** The limit of an IPTC block in bytes, because a JPEG holds it in one segment. */
const MAX_IPTC_BYTES = 60_000;

/**
 * The IPTC that a result carries: the texts, without a preview and without other Photoshop resources, one of which is a
 * thumbnail.
 * @param block the datasets, or a Photoshop block that holds them.
 */
export function carriedIptc(block: Uint8Array): Buffer | undefined {
  const bytes = new ByteReader(datasetBytesOf(block));
  const kept: Uint8Array[] = [];
  for (const { record, number, at, start, end, truncated } of iptcDatasets(bytes)) {
    const isText =
      record === ENVELOPE_RECORD || (record === APPLICATION_RECORD && number < FIRST_PREVIEW_DATASET);
    if (isText && !truncated && !containsPicture(bytes.slice(start, end))) kept.push(bytes.slice(at, end));
  }
  const iptc = Buffer.concat(kept);
  return iptc.length === 0 || iptc.length > MAX_IPTC_BYTES ? undefined : iptc;
}

function datasetBytesOf(block: Uint8Array): Uint8Array {
  const bytes = new ByteReader(block);
  if (!isPhotoshopBlock(bytes)) return block;
  for (const { number, start, end } of photoshopResources(bytes))
    if (number === IPTC_RESOURCE_NUMBER) return bytes.slice(start, end);
  return new Uint8Array();
}

/** The rights fields as IPTC; undefined when there are no texts. */
export function buildRightsIptc(byLines: readonly string[], notices: readonly string[]): Buffer | undefined {
  const sets = [
    ...byLines.map((text) => encodeDataset(BY_LINE_DATASET, text)),
    ...notices.map((text) => encodeDataset(COPYRIGHT_NOTICE_DATASET, text)),
  ];
  return sets.length === 0 ? undefined : Buffer.concat([UTF8_DECLARATION, ...sets]);
}

function encodeDataset({ number, maxBytes }: typeof BY_LINE_DATASET, text: string): Buffer {
  const cut = Buffer.from(text).subarray(0, maxBytes);
  // A character that was cut in half is removed.
  const value = Buffer.from(cut.toString().replace(/\uFFFD+$/, ''));
  return Buffer.concat([Buffer.from([0x1c, 2, number, 0, value.length]), value]);
}

/** Builds the segment of a JPEG (APP13) that holds IPTC. */
export function iptcSegment(iptc: Buffer): Buffer {
  return buildJpegSegment(JPEG_MARKERS.app13, buildPhotoshopBlock(IPTC_RESOURCE_NUMBER, iptc));
}
