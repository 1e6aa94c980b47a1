import type { Metadata } from 'sharp';
import { ByteReader } from '../../formats/bytes.ts';
import { APP1_MARKER, type JpegSegment, jpegSegments, START_OF_SCAN_MARKER } from '../../formats/jpeg.ts';

/**
 * Finds the XMP of a file. A JPEG holds a packet in one segment, and what does not fit there as a second packet in
 * segments of another name (ISO 16684-3, section 5.1.3). They may come in any order, and libvips takes the first of
 * them for the packet. In the other formats a packet is one block.
 */

/** What the segments of the two packets begin with. */
const MAIN = 'http://ns.adobe.com/xap/1.0/\0';
const REST = 'http://ns.adobe.com/xmp/extension/\0';

/** The main packet names the digest of the second one. */
const DIGEST = /HasExtendedXMP\s*(?:=\s*["']|>)\s*([0-9A-F]{32})/i;
/** Before its content, a segment of the second packet has the digest, the length of the packet, and its own offset. */
const DIGEST_BYTES = 32;
const REST_HEAD_BYTES = REST.length + DIGEST_BYTES + 8;
/** A longer second packet is not read. */
const MAX_REST_BYTES = 1024 * 1024;

/** The main packet of a file; undefined if it has none. */
export function xmpPacket(input: Uint8Array, { format, xmp }: Metadata): Uint8Array | undefined {
  if (format !== 'jpeg' || xmp === undefined) return xmp;
  const bytes = new ByteReader(input);
  const segment = segmentsOf(bytes, MAIN).find(() => true);
  return segment && bytes.slice(segment.start + MAIN.length, segment.end);
}

/** The second packet of a JPEG, to which the main one refers; undefined if there is none, or if a part is missing. */
export function secondXmpPacket(
  input: Uint8Array,
  { format }: Metadata,
  main: Uint8Array,
): Uint8Array | undefined {
  if (format !== 'jpeg') return undefined;
  const [, digest] = DIGEST.exec(Buffer.from(main).toString('latin1')) ?? [];
  if (digest === undefined) return undefined;
  const bytes = new ByteReader(input);
  let packet: Uint8Array | undefined;
  let missing = 0;
  for (const { start, end } of segmentsOf(bytes, REST + digest)) {
    const content = bytes.slice(start + REST_HEAD_BYTES, end);
    if (start + REST_HEAD_BYTES > end) continue;
    const [length, offset] = [bytes.u32(start + REST_HEAD_BYTES - 8), bytes.u32(start + REST_HEAD_BYTES - 4)];
    if (length > MAX_REST_BYTES || offset + content.length > length) return undefined;
    if (packet === undefined) [packet, missing] = [new Uint8Array(length), length];
    if (packet.length !== length) return undefined;
    packet.set(content, offset);
    missing -= content.length;
  }
  return missing === 0 ? packet : undefined;
}

/** The APP1 segments before the first scan that begin with a text. */
function* segmentsOf(bytes: ByteReader, text: string): Generator<JpegSegment, void, undefined> {
  for (const segment of jpegSegments(bytes)) {
    if (segment.marker === START_OF_SCAN_MARKER) return;
    if (segment.marker === APP1_MARKER && bytes.text(segment.start, text.length) === text) yield segment;
  }
}
