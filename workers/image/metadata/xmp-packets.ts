import { createHash } from 'node:crypto';
import type { Metadata } from 'sharp';
import { ByteReader } from '../../formats/bytes.ts';
import { gifXmpPacket } from '../../formats/gif.ts';
import { buildJpegSegment, JPEG_MARKERS, type JpegSegment, jpegHeadSegments } from '../../formats/jpeg.ts';
import { NOTE_NAMESPACE, RDF_NAMESPACE, type XmpPacket, xmpText } from './xmp.ts';

/**
 * Finds the XMP of a file, and writes packets that are too long for libvips. A JPEG holds the main packet in one
 * segment. Properties that do not fit there are in a second packet, in segments of another name (ISO 16684-3, section
 * 5.1.3). These segments may come in any order, and libvips mistakes the first of them for the packet. In the other
 * formats a packet is one block, which libvips finds, except in a GIF.
 */

/** The texts with which the segments of the main and of the second packet begin. */
const MAIN_PACKET_NAME = 'http://ns.adobe.com/xap/1.0/\0';
const SECOND_PACKET_NAME = 'http://ns.adobe.com/xmp/extension/\0';

/** Matches the digest of the second packet in the main one. */
const SECOND_PACKET_DIGEST = /HasExtendedXMP\s*(?:=\s*["']|>)\s*([0-9A-F]{32})/i;
/**
 * A segment of the second packet begins with the digest, the length of the packet, and the offset of the segment in it.
 */
const DIGEST_BYTES = 32;
const SECOND_SEGMENT_HEAD_BYTES = SECOND_PACKET_NAME.length + DIGEST_BYTES + 8;
const MAX_SECOND_PACKET_BYTES = 1024 * 1024;

/** The main packet of a file; undefined if it has none. */
export function xmpPacket(input: Uint8Array, { format, xmp }: Metadata): Uint8Array | undefined {
  const bytes = new ByteReader(input);
  if (format === 'gif') return gifXmpPacket(bytes);
  if (format !== 'jpeg' || xmp === undefined) return xmp;
  const segment = segmentsOf(bytes, MAIN_PACKET_NAME).find(() => true);
  return segment && bytes.slice(segment.start + MAIN_PACKET_NAME.length, segment.end);
}

/** The second packet of a JPEG, to which the main one refers; undefined if there is none, or if a part is missing. */
export function secondXmpPacket(
  input: Uint8Array,
  { format }: Metadata,
  main: Uint8Array,
): Uint8Array | undefined {
  if (format !== 'jpeg') return undefined;
  const [, digest] = SECOND_PACKET_DIGEST.exec(Buffer.from(main).toString('latin1')) ?? [];
  if (digest === undefined) return undefined;
  const bytes = new ByteReader(input);
  let packet: Uint8Array | undefined;
  let missing = 0;
  for (const { start, end } of segmentsOf(bytes, SECOND_PACKET_NAME + digest)) {
    const content = bytes.slice(start + SECOND_SEGMENT_HEAD_BYTES, end);
    if (start + SECOND_SEGMENT_HEAD_BYTES > end) continue;
    const [length, offset] = [
      bytes.u32(start + SECOND_SEGMENT_HEAD_BYTES - 8),
      bytes.u32(start + SECOND_SEGMENT_HEAD_BYTES - 4),
    ];
    if (length > MAX_SECOND_PACKET_BYTES || offset + content.length > length) return undefined;
    if (packet === undefined) [packet, missing] = [new Uint8Array(length), length];
    if (packet.length !== length) return undefined;
    packet.set(content, offset);
    missing -= content.length;
  }
  return missing === 0 ? packet : undefined;
}

/** libvips writes a packet of up to this length into a JPEG, and drops a longer one. */
const MAX_MAIN_PACKET_BYTES = 60_000;
/** The number of bytes of the second packet in one segment. */
const SECOND_SEGMENT_CONTENT_BYTES = 65_000;
const DIGEST_PLACEHOLDER = '0'.repeat(DIGEST_BYTES);
/** The instructions around a packet, which a second packet does not have. */
const XPACKET_INSTRUCTION = /<\?xpacket\b.*?\?>/gs;

/**
 * The segments of a packet that libvips does not write into a JPEG, because it is too long. The main packet gets the
 * descriptions that fit, and the second one the others, unless they are too long to be read again. There are none for a
 * shorter packet, nor for a packet whose markup around the descriptions is too long.
 */
export function longXmpSegments(packet: XmpPacket): Buffer[] {
  if (Buffer.byteLength(xmpText(packet)) <= MAX_MAIN_PACKET_BYTES) return [];
  const frame = { ...packet, descriptions: [secondPacketReference(DIGEST_PLACEHOLDER)] };
  let leftBytes = MAX_MAIN_PACKET_BYTES - Buffer.byteLength(xmpText(frame));
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
  const second = Buffer.from(xmpText({ ...packet, descriptions: rest }).replace(XPACKET_INSTRUCTION, ''));
  if (second.length > MAX_SECOND_PACKET_BYTES) return [mainSegment({ ...packet, descriptions: main })];
  const digest = createHash('md5').update(second).digest('hex').toUpperCase();
  return [
    mainSegment({ ...packet, descriptions: [...main, secondPacketReference(digest)] }),
    ...secondSegments(second, digest),
  ];
}

/** The description in the main packet that names the digest of the second one. */
function secondPacketReference(digest: string): string {
  return `<rdf:Description xmlns:rdf="${RDF_NAMESPACE}" xmlns:xmpNote="${NOTE_NAMESPACE}" rdf:about="" xmpNote:HasExtendedXMP="${digest}"/>`;
}

function mainSegment(packet: XmpPacket): Buffer {
  return buildJpegSegment(JPEG_MARKERS.app1, Buffer.from(MAIN_PACKET_NAME), Buffer.from(xmpText(packet)));
}

function secondSegments(second: Buffer, digest: string): Buffer[] {
  return Array.from({ length: Math.ceil(second.length / SECOND_SEGMENT_CONTENT_BYTES) }, (_, part) => {
    const offset = part * SECOND_SEGMENT_CONTENT_BYTES;
    const numbers = Buffer.alloc(8);
    numbers.writeUInt32BE(second.length, 0);
    numbers.writeUInt32BE(offset, 4);
    const content = second.subarray(offset, offset + SECOND_SEGMENT_CONTENT_BYTES);
    return buildJpegSegment(JPEG_MARKERS.app1, Buffer.from(SECOND_PACKET_NAME + digest), numbers, content);
  });
}

/** The APP1 segments before the first scan that begin with a text. */
function* segmentsOf(bytes: ByteReader, text: string): Generator<JpegSegment, void, undefined> {
  for (const segment of jpegHeadSegments(bytes))
    if (segment.marker === JPEG_MARKERS.app1 && bytes.text(segment.start, text.length) === text)
      yield segment;
}
