/**
 * IPTC-IIM (version 4.2), the rights fields alone: picture agencies read it where others read EXIF and XMP. A JPEG keeps it in
 * a Photoshop resource, a TIFF as a tag.
 */

const BY_LINE = 80;
const COPYRIGHT_NOTICE = 116;
/** Says that texts are UTF-8: escape, %, G in dataset 1:90. */
const UTF8 = Buffer.from([0x1c, 1, 90, 0, 3, 0x1b, 0x25, 0x47]);
/** The longest of each, in bytes, by the standard. */
const LONGEST_BYTES: Record<number, number> = { [BY_LINE]: 32, [COPYRIGHT_NOTICE]: 128 };

export interface IptcRights {
  byLines: readonly string[];
  notices: readonly string[];
}

/** Undefined when nothing is said. */
export function iptcOf({ byLines, notices }: IptcRights): Buffer | undefined {
  const sets = [
    ...byLines.map((text) => dataset(BY_LINE, text)),
    ...notices.map((text) => dataset(COPYRIGHT_NOTICE, text)),
  ];
  return sets.length === 0 ? undefined : Buffer.concat([UTF8, ...sets]);
}

function dataset(number: number, text: string): Buffer {
  const longest = LONGEST_BYTES[number] ?? 0;
  const cut = Buffer.from(text).subarray(0, longest);
  // A character is not cut in half.
  const value = Buffer.from(cut.toString().replace(/\uFFFD+$/, ''));
  return Buffer.concat([Buffer.from([0x1c, 2, number, 0, value.length]), value]);
}

/** A JPEG with a segment of these bytes behind those that say how it is to be read. */
export function withIptc(jpeg: Uint8Array<ArrayBuffer>, iptc: Buffer): Uint8Array<ArrayBuffer> {
  const size = Buffer.alloc(4);
  size.writeUInt32BE(iptc.length);
  const resource = Buffer.concat([Buffer.from('Photoshop 3.0\x008BIM\x04\x04\0\0', 'latin1'), size, iptc]);
  const padded = Buffer.concat([resource, Buffer.alloc(resource.length % 2)]);
  const head = Buffer.from([0xff, 0xed, 0, 0]);
  head.writeUInt16BE(padded.length + 2, 2);
  const file = Buffer.from(jpeg.buffer, jpeg.byteOffset, jpeg.byteLength);
  let at = 2;
  // APP0 to APP2: JFIF, EXIF or XMP, and the profile.
  while (file[at] === 0xff && (file[at + 1] ?? 0) >= 0xe0 && (file[at + 1] ?? 0) <= 0xe2) {
    at += 2 + file.readUInt16BE(at + 2);
  }
  return new Uint8Array(Buffer.concat([file.subarray(0, at), head, padded, file.subarray(at)]));
}
