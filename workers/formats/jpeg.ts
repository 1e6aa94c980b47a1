import { ByteReader } from './bytes.ts';
import { type ContainerPart, partsBetween } from './parts.ts';

/** JPEG (ITU-T T.81, annex B): markers, each 0xff and a code. Most are followed by a length and content. */

const START_OF_IMAGE_MARKER = 0xffd8;
/** The number of bytes of a marker. The first segment begins after the start marker. */
export const JPEG_MARKER_BYTES = 2;
const SEGMENT_LENGTH_BYTES = 2;

/** The codes of markers. */
export const JPEG_MARKERS = {
  baselineFrame: 0xc0,
  progressiveFrame: 0xc2,
  endOfImage: 0xd9,
  startOfScan: 0xda,
  app0: 0xe0,
  app1: 0xe1,
  app2: 0xe2,
  app13: 0xed,
};
/** Markers without a length and content: TEM, SOI and EOI. */
const isMarkerWithoutContent = (code: number) =>
  code === 0x01 || code === 0xd8 || code === JPEG_MARKERS.endOfImage;
/** Whether a code belongs to the data of a scan, and begins no segment: a stuffed byte or a restart marker. */
const isScanDataCode = (code: number) => code === 0 || (code >= 0xd0 && code <= 0xd7);

export interface JpegSegment extends ContainerPart {
  /** The code of the marker of the segment, such as 0xe1 for APP1. */
  marker: number;
}

/**
 * The segments of a JPEG between SOI and EOI; none for a file that is not a JPEG. Bytes between two segments are
 * skipped, as decoders do: the data of a scan, fill bytes, garbage. A caller detects them by a segment whose `at`
 * differs from the `next` of the segment before. The data of a scan is searched only when the caller requests the
 * segment after it.
 */
export function jpegSegments(bytes: ByteReader): Iterable<JpegSegment> {
  if (bytes.length < JPEG_MARKER_BYTES || bytes.u16(0) !== START_OF_IMAGE_MARKER) return [];
  return partsBetween(
    JPEG_MARKER_BYTES,
    bytes.length,
    (from) => readSegmentAt(bytes, findMarkerCode(bytes, from)),
    ({ marker }) => marker === JPEG_MARKERS.endOfImage,
  );
}

/** The segments before the first scan, which describe the picture. */
export function* jpegHeadSegments(bytes: ByteReader): Generator<JpegSegment, void, undefined> {
  for (const segment of jpegSegments(bytes)) {
    if (segment.marker === JPEG_MARKERS.startOfScan) return;
    yield segment;
  }
}

/**
 * Reads a segment; undefined if no marker code is left.
 * @param codeAt the offset of the code of its marker.
 */
function readSegmentAt(bytes: ByteReader, codeAt: number): JpegSegment | undefined {
  if (codeAt >= bytes.length) return undefined;
  const marker = bytes.u8(codeAt);
  const at = codeAt - 1;
  const afterCode = codeAt + 1;
  if (isMarkerWithoutContent(marker))
    return { marker, at, start: afterCode, end: afterCode, next: afterCode, truncated: false };
  const start = afterCode + SEGMENT_LENGTH_BYTES;
  if (start > bytes.length) return undefined;
  // The length includes its own two bytes.
  const end = Math.max(start, afterCode + bytes.u16(afterCode));
  return { marker, at, start, end, next: end, truncated: false };
}

/**
 * The offset of the code of the next marker, or the length of the file. Each byte is read only once, because the data
 * of a scan may consist of stuffed bytes and restart markers alone.
 */
function findMarkerCode(bytes: ByteReader, from: number): number {
  const { length } = bytes;
  let at = bytes.indexOf(0xff, from) + 1;
  while (at < length) {
    const code = bytes.u8(at);
    if (code === 0xff) at += 1;
    else if (isScanDataCode(code)) at = bytes.indexOf(0xff, at + 1) + 1;
    else return at;
  }
  return length;
}

/** Builds a segment with its marker and length. */
export function buildJpegSegment(marker: number, ...content: Uint8Array[]): Buffer {
  const segment = Buffer.concat([Buffer.from([0xff, marker, 0, 0]), ...content]);
  segment.writeUInt16BE(segment.byteLength - JPEG_MARKER_BYTES, JPEG_MARKER_BYTES);
  return segment;
}

/** The limit of the content of a segment that is built here. A segment can have 65,533 bytes. */
export const MAX_JPEG_SEGMENT_BYTES = 65_000;

/** The segments of a JPEG (APP2) that hold an ICC profile. */
export function buildProfileSegments(profile: Uint8Array): Buffer[] {
  const count = Math.ceil(profile.byteLength / MAX_JPEG_SEGMENT_BYTES);
  return Array.from({ length: count }, (_, index) => {
    const part = profile.subarray(index * MAX_JPEG_SEGMENT_BYTES, (index + 1) * MAX_JPEG_SEGMENT_BYTES);
    return buildJpegSegment(
      JPEG_MARKERS.app2,
      Buffer.from('ICC_PROFILE\0'),
      Buffer.from([index + 1, count]),
      part,
    );
  });
}

/** Segments that describe how to read a JPEG: JFIF, EXIF or XMP, and the profile. */
const LEADING_MARKERS = [JPEG_MARKERS.app0, JPEG_MARKERS.app1, JPEG_MARKERS.app2];

/** A copy of a JPEG with more segments. They are inserted after the segments that describe how to read the file. */
export function withJpegSegments(
  jpeg: Uint8Array<ArrayBuffer>,
  segments: readonly Uint8Array[],
): Uint8Array<ArrayBuffer> {
  if (segments.length === 0) return jpeg;
  let at = JPEG_MARKER_BYTES;
  for (const { marker, next } of jpegSegments(new ByteReader(jpeg))) {
    if (!LEADING_MARKERS.includes(marker)) break;
    at = next;
  }
  return Buffer.concat([jpeg.subarray(0, at), ...segments, jpeg.subarray(at)]);
}
