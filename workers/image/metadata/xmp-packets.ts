import { createHash } from 'node:crypto';
import type { Metadata } from 'sharp';
import { ByteReader } from '../../formats/bytes.ts';
import { APP1_MARKER, buildJpegSegment, type JpegSegment, jpegHeadSegments } from '../../formats/jpeg.ts';
import { NOTE_NAMESPACE, RDF_NAMESPACE, type XmpPacket, xmpText } from './xmp.ts';

/**
 * Finds the XMP of a file, and writes what is too long for libvips. A JPEG holds a packet in one segment, and what does
 * not fit there as a second packet in segments of another name (ISO 16684-3, section 5.1.3). They may come in any
 * order, and libvips takes the first of them for the packet. In the other formats a packet is one block.
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

/** libvips writes a packet of up to this length into a JPEG, and drops a longer one. */
const MAX_MAIN_BYTES = 60_000;
/** Bytes of the second packet in one segment. */
const REST_PART_BYTES = 65_000;
const DIGEST_STAND_IN = '0'.repeat(DIGEST_BYTES);
/** The instructions around a packet, which a second packet does not have. */
const WRAPPER = /<\?xpacket\b.*?\?>/gs;

/**
 * The segments of a packet that libvips does not write into a JPEG, because it is too long. The main packet gets the
 * descriptions that fit, and the second one the others, unless they are too long to be read again. None for a shorter
 * packet, and for one whose frame alone is too long.
 */
export function longXmpSegments(packet: XmpPacket): Buffer[] {
  if (Buffer.byteLength(xmpText(packet)) <= MAX_MAIN_BYTES) return [];
  const frame = { ...packet, descriptions: [referenceTo(DIGEST_STAND_IN)] };
  let leftBytes = MAX_MAIN_BYTES - Buffer.byteLength(xmpText(frame));
  if (leftBytes < 0) return [];
  const main: string[] = [];
  const rest: string[] = [];
  for (const description of packet.descriptions) {
    const bytes = Buffer.byteLength(description);
    if (bytes <= leftBytes) {
      main.push(description);
      leftBytes -= bytes;
    } else rest.push(description);
  }
  const second = Buffer.from(xmpText({ ...packet, descriptions: rest }).replace(WRAPPER, ''));
  if (second.length > MAX_REST_BYTES) return [mainSegment({ ...packet, descriptions: main })];
  const digest = createHash('md5').update(second).digest('hex').toUpperCase();
  return [
    mainSegment({ ...packet, descriptions: [...main, referenceTo(digest)] }),
    ...restSegments(second, digest),
  ];
}

/** The description in the main packet that names the digest of the second one. */
function referenceTo(digest: string): string {
  return `<rdf:Description xmlns:rdf="${RDF_NAMESPACE}" xmlns:xmpNote="${NOTE_NAMESPACE}" rdf:about="" xmpNote:HasExtendedXMP="${digest}"/>`;
}

function mainSegment(packet: XmpPacket): Buffer {
  return buildJpegSegment(APP1_MARKER, Buffer.from(MAIN), Buffer.from(xmpText(packet)));
}

function restSegments(second: Buffer, digest: string): Buffer[] {
  return Array.from({ length: Math.ceil(second.length / REST_PART_BYTES) }, (_, part) => {
    const offset = part * REST_PART_BYTES;
    const numbers = Buffer.alloc(8);
    numbers.writeUInt32BE(second.length, 0);
    numbers.writeUInt32BE(offset, 4);
    const content = second.subarray(offset, offset + REST_PART_BYTES);
    return buildJpegSegment(APP1_MARKER, Buffer.from(REST + digest), numbers, content);
  });
}

/** The APP1 segments before the first scan that begin with a text. */
function* segmentsOf(bytes: ByteReader, text: string): Generator<JpegSegment, void, undefined> {
  for (const segment of jpegHeadSegments(bytes))
    if (segment.marker === APP1_MARKER && bytes.text(segment.start, text.length) === text) yield segment;
}
