import ExifReader from 'exifreader';
import type { Metadata } from 'sharp';
import { isoBoxes } from '../../formats/boxes.ts';
import { ByteReader } from '../../formats/bytes.ts';
import {
  buildJpegSegment,
  buildProfileSegments,
  JPEG_MARKER_BYTES,
  JPEG_MARKERS,
  jpegHeadSegments,
  MAX_JPEG_SEGMENT_BYTES,
} from '../../formats/jpeg.ts';
import { buildPhotoshopBlock, IPTC_RESOURCE_NUMBER, isPhotoshopBlock } from '../../formats/photoshop.ts';
import { isBigTiff, withoutExifPrefix } from '../../formats/tiff.ts';
import { withoutBulkyTags } from './edited-exif.ts';
import { decodeHexProfile, pngTexts } from './png.ts';
import { decodeExifText, type PlainTagValue, plainTagsOf } from './tag-values.ts';
import { exifBlockOf } from './tiff-tags.ts';
import { secondXmpPacket, xmpPacket } from './xmp-packets.ts';

/** The groups of tags as the reader returns them. A tag is a value, or an object that holds one. */
type TagGroups = Record<string, unknown>;

/** The limit of all tags of a file together, in characters of JSON. */
const MAX_TAGS_CHARACTERS = 128 * 1024;
/**
 * The number of bytes at the start of a container that are read for its own tags. Exif, ICC, IPTC and XMP are separate
 * blocks.
 */
const CONTAINER_HEAD_BYTES = 256 * 1024;
/** The segments of a JPEG that hold its own tags. */
const CONTAINER_TAG_MARKERS = [JPEG_MARKERS.app0, JPEG_MARKERS.baselineFrame, JPEG_MARKERS.progressiveFrame];
/** The first byte of a little-endian TIFF structure: `I` of `II`. */
const LITTLE_ENDIAN_START = 0x49;
const MAX_BLOCK_BYTES = 1024 * 1024;

/**
 * The reported groups, in the order of the response. The thumbnail is left out, as are values that the reader computes
 * or repeats.
 */
const REPORTED_GROUPS = ['file', 'jfif', 'png', 'riff', 'gif', 'exif', 'gps', 'iptc', 'xmp', 'icc'] as const;

/** The tags that are text although their type is bytes. ExifReader returns that text as their `description`. */
const TEXT_TAGS_OF_BYTE_TYPE: ReadonlySet<string> = new Set([
  'ExifVersion',
  'FlashpixVersion',
  'InteroperabilityVersion',
  'XPTitle',
  'XPComment',
  'XPAuthor',
  'XPKeywords',
  'XPSubject',
]);

/** The tags whose bytes begin with the encoding of their text. */
const TAGS_NAMING_ENCODING: ReadonlySet<string> = new Set([
  'UserComment',
  'GPSProcessingMethod',
  'GPSAreaInformation',
]);

/** Matches tags about the internal layout of the file, and blocks that are reported tag by tag. */
const UNREPORTED_TAG =
  /^(.* IFD Pointer|JPEGInterchangeFormat(Length)?|(Strip|Tile)(Offsets|ByteCounts)|MakerNote|IPTC-NAA|ApplicationNotes|ICC_Profile|PhotoshopSettings|ImageSourceData)$/;

/** The keyword under which ImageMagick stores a profile in a PNG, before the name of the profile. */
const RAW_PROFILE_KEYWORD = 'Raw profile type ';

/**
 * Every tag of a file under its own name, in groups: `exif`, `gps`, `iptc`, `xmp`, `icc`, and the container's own
 * (`jfif`, `png`, `riff`, `gif`, `file`). Values are plain and as stored: rationals as numbers, codes as codes. The
 * function never throws: a block that cannot be read is left out.
 */
export function readImageTags(
  input: Uint8Array<ArrayBuffer>,
  header: Metadata,
): Record<string, Record<string, PlainTagValue>> {
  const exif = exifBlock(input, header);
  const littleEndian = exif?.[0] === LITTLE_ENDIAN_START;
  const groups: TagGroups = {
    ...readTagGroups(containerHeadOf(input, header), ['file', 'jfif', 'png', 'riff', 'gif']),
    ...readTagGroups(exif, ['exif', 'gps']),
    ...xmpTags(input, header),
    ...readTagGroups(profileBlock(header), ['icc', 'iptc']),
  };
  const budget = { leftCharacters: MAX_TAGS_CHARACTERS };
  const reported: Record<string, Record<string, PlainTagValue>> = {};
  for (const group of REPORTED_GROUPS) {
    // A string is not a tag. The reader returns the source of an XMP document as a string, and a string in place of a
    // tag that is named `__proto__`.
    const tags = Object.entries(groups[group] ?? {}).filter(
      ([name, tag]) => typeof tag !== 'string' && !UNREPORTED_TAG.test(name),
    );
    const values = tags.map(([name, tag]) => {
      const value = valueOfTag(tag, group === 'iptc' || TEXT_TAGS_OF_BYTE_TYPE.has(name));
      return [name, TAGS_NAMING_ENCODING.has(name) ? decodeTagText(value, littleEndian) : value] as const;
    });
    const texts = group === 'png' ? missingPngTexts(values, input) : [];
    const plain = plainTagsOf([...values, ...texts], budget);
    if (Object.keys(plain).length > 0) reported[group] = plain;
  }
  return reported;
}

/** Reads the tags of one block. The result is empty when there is no block, or when it cannot be read. */
function readTagGroups(block: Buffer | undefined, groups: readonly string[]): TagGroups {
  if (block === undefined) return {};
  try {
    const includeTags = Object.fromEntries(groups.map((group) => [group, true]));
    return { ...ExifReader.load(block, { expanded: true, computed: true, includeTags }) };
  } catch {
    return {};
  }
}

/**
 * The part of a file with the container's own tags. The reader is given no other part, because it prints a line to the
 * console about blocks such as a second EXIF segment.
 */
function containerHeadOf(input: Uint8Array<ArrayBuffer>, { format }: Metadata): Buffer {
  const bytes = new ByteReader(input);
  if (format === 'jpeg') {
    const segments = [...jpegHeadSegments(bytes)].filter(({ marker }) =>
      CONTAINER_TAG_MARKERS.includes(marker),
    );
    const parts = segments.map(({ at, next }) => bytes.slice(at, next));
    return Buffer.concat([bytes.slice(0, JPEG_MARKER_BYTES), ...parts]).subarray(0, CONTAINER_HEAD_BYTES);
  }
  const [first] = format === 'heif' ? isoBoxes(bytes) : [];
  const length = Math.min(first?.next ?? input.byteLength, CONTAINER_HEAD_BYTES);
  return Buffer.from(input.buffer, input.byteOffset, length);
}

/**
 * The EXIF as a TIFF structure: the file itself if that is a TIFF, otherwise a block of the container. The reader does
 * not know BigTIFF, so the EXIF of such a file is written as a block.
 */
function exifBlock(input: Uint8Array, header: Metadata): Buffer | undefined {
  if (header.format === 'tiff') return isBigTiff(input) ? exifBlockOf(input) : withoutBulkyTags(input);
  const block = header.exif ?? rawProfile('exif', header);
  if (block === undefined) return undefined;
  return withoutBulkyTags(withoutExifPrefix(block));
}

/** The tags of both XMP packets. A tag that both have is taken from the main packet. */
function xmpTags(input: Uint8Array, header: Metadata): TagGroups {
  const main = xmpPacket(input, header) ?? rawProfile('xmp', header);
  if (main === undefined) return {};
  const second = secondXmpPacket(input, header, main);
  const [tags, more] = [main, second].map(
    (packet) => readTagGroups(packet && xmpBlock(packet), ['xmp']).xmp ?? {},
  );
  return { xmp: { ...more, ...tags } };
}

/** The XMP document with a packet header. The header is optional in XMP, but the reader recognises XMP by it. */
function xmpBlock({ buffer, byteOffset, byteLength }: Uint8Array): Buffer | undefined {
  if (byteLength > MAX_BLOCK_BYTES) return undefined;
  const xmp = Buffer.from(buffer, byteOffset, byteLength);
  if (xmp.toString('latin1', 0, 9) === '<?xpacket') return xmp;
  return Buffer.concat([Buffer.from('<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?>'), xmp]);
}

function rawProfile(name: string, { comments = [] }: Metadata): Buffer | undefined {
  const profile = comments.find(({ keyword }) => keyword === RAW_PROFILE_KEYWORD + name);
  return profile && decodeHexProfile(profile.text);
}

/** A JPEG that consists of ICC and IPTC blocks only. The reader does not accept these blocks outside of a JPEG. */
function profileBlock({ icc, iptc }: Metadata): Buffer | undefined {
  const segments = icc !== undefined && icc.byteLength <= MAX_BLOCK_BYTES ? buildProfileSegments(icc) : [];
  if (iptc !== undefined && iptc.byteLength <= MAX_JPEG_SEGMENT_BYTES)
    segments.push(buildJpegSegment(JPEG_MARKERS.app13, iptcResource(iptc)));
  if (segments.length === 0) return undefined;
  return Buffer.concat([Buffer.from([0xff, 0xd8]), ...segments, Buffer.from([0xff, 0xd9])]);
}

/** The IPTC in a Photoshop resource, as in a JPEG. The IPTC of a TIFF has none and is put into one. */
function iptcResource(iptc: Buffer): Buffer {
  return isPhotoshopBlock(new ByteReader(iptc)) ? iptc : buildPhotoshopBlock(IPTC_RESOURCE_NUMBER, iptc);
}

/** Matches what the reader adds to the keyword of a text: its language, as in `Title (en)`. */
const LANGUAGE_OF_KEYWORD_PATTERN = / \([^(]*$/;

/** The texts of a PNG that the reader did not return, because they are compressed. */
function missingPngTexts(
  known: ReadonlyArray<readonly [string, unknown]>,
  input: Uint8Array<ArrayBuffer>,
): [string, string][] {
  const names = new Set(known.flatMap(([name]) => [name, name.replace(LANGUAGE_OF_KEYWORD_PATTERN, '')]));
  return pngTexts(input)
    .filter(({ keyword }) => !names.has(keyword))
    .map(({ keyword, text }) => [keyword, text]);
}

/** The text of a tag that names its encoding. If the reader has returned no bytes, the value itself is returned. */
function decodeTagText(held: unknown, littleEndian: boolean): unknown {
  const isBytes = Array.isArray(held) && held.every((byte) => typeof byte === 'number');
  return isBytes ? decodeExifText(Uint8Array.from(held), littleEndian) : held;
}

/**
 * The plain value of a tag that a reader returned. It may be a list (IPTC), or nested (XMP).
 * @param text whether the reader returns the bytes of the tag as its value, and their text as its description.
 */
function valueOfTag(tag: unknown, text: boolean): unknown {
  if (Array.isArray(tag)) return tag.map((one) => valueOfTag(one, text));
  if (typeof tag !== 'object' || tag === null) return tag;
  if (text) return 'description' in tag ? tag.description : undefined;
  if ('computed' in tag) return tag.computed;
  if ('value' in tag) return valueOfTag(tag.value, text);
  return Object.fromEntries(Object.entries(tag).map(([name, value]) => [name, valueOfTag(value, text)]));
}
