import { Bytes } from '../../formats/bytes.ts';
import { APP0, APP1, APP2, APP13, JPEG_HEAD_BYTES, jpegSegment, jpegSegments } from '../../formats/jpeg.ts';

/**
 * IPTC-IIM (version 4.2), limited to the rights fields: picture agencies read it where others read EXIF and XMP. A JPEG
 * stores it in a Photoshop resource, a TIFF as a tag.
 */

/** Numbers of the fields, and their maximum lengths in bytes, by the standard. */
const BY_LINE = { number: 80, longestBytes: 32 };
const COPYRIGHT_NOTICE = { number: 116, longestBytes: 128 };
/** Declares the texts as UTF-8: escape, %, G in dataset 1:90. */
const UTF8 = Buffer.from([0x1c, 1, 90, 0, 3, 0x1b, 0x25, 0x47]);

/** Undefined when there are no texts. */
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

/** JPEG stores IPTC in a Photoshop resource, 0x0404, without a name. */
export function photoshopResource(iptc: Uint8Array): Buffer {
  const size = Buffer.alloc(4);
  size.writeUInt32BE(iptc.byteLength);
  const head = Buffer.from('Photoshop 3.0\x008BIM\x04\x04\0\0', 'latin1');
  return Buffer.concat([head, size, iptc, Buffer.alloc(iptc.byteLength % 2)]);
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
  const segment = jpegSegment(APP13, photoshopResource(iptc));
  return new Uint8Array(Buffer.concat([jpeg.subarray(0, at), segment, jpeg.subarray(at)]));
}
