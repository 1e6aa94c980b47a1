// needs: nothing
import sharp from 'sharp';
import t from 'tap';
import { buildJpegSegment, JPEG_MARKER_BYTES, JPEG_MARKERS } from '../../../workers/formats/jpeg.ts';
import { describeImage } from '../../../workers/image/metadata/metadata.ts';
import { decodeExifText } from '../../../workers/image/metadata/tag-values.ts';
import { caseFile, needsCases } from '../../support/cases.ts';

const corpus = needsCases(t);

const ASCII = 'ASCII\0\0\0';
const UNICODE = 'UNICODE\0';
const JIS = 'JIS\0\0\0\0\0';
const NO_CODE = '\0'.repeat(8);
/** "日本" between the escapes of ISO-2022-JP, and in Shift JIS. */
const ISO_2022_JP = Buffer.from('\x1b$BF|K\\\x1b(B', 'latin1');
const SHIFT_JIS = Buffer.from([0x93, 0xfa, 0x96, 0x7b]);

const little = (text: string) => Buffer.from(text, 'utf16le');
const big = (text: string) => little(text).swap16();
const coded = (code: string, text: Uint8Array) => Buffer.concat([Buffer.from(code, 'latin1'), text]);

t.test('text is read by the code that it names', async (t) => {
  const texts: [name: string, bytes: Buffer, littleEndian: boolean, text: string | undefined][] = [
    ['UTF-16 LE in II', coded(UNICODE, little('Größe ☃')), true, 'Größe ☃'],
    ['UTF-16 BE in MM', coded(UNICODE, big('Größe ☃')), false, 'Größe ☃'],
    ['UTF-16 LE in MM', coded(UNICODE, little('Größe ☃')), false, 'Größe ☃'],
    ['UTF-16 BE in II', coded(UNICODE, big('Größe ☃')), true, 'Größe ☃'],
    ['UTF-16 LE with a mark in MM', coded(UNICODE, little('\uFEFF日本')), false, '日本'],
    ['UTF-16 BE with a mark in II', coded(UNICODE, big('\uFEFF日本')), true, '日本'],
    ['no Latin letter, in the order of II', coded(UNICODE, little('日本語')), true, '日本語'],
    ['no Latin letter, in the order of MM', coded(UNICODE, big('日本語')), false, '日本語'],
    ['no Latin letter, LE in MM', coded(UNICODE, little('日本語のコメント')), false, '日本語のコメント'],
    ['no Latin letter, BE in II', coded(UNICODE, big('Комментарий')), true, 'Комментарий'],
    ['one letter, again and again', coded(UNICODE, big('aaaa')), true, 'aaaa'],
    ['an odd number of bytes', coded(UNICODE, Buffer.from('a\0b\0\0', 'latin1')), true, 'ab\uFFFD'],
    ['JIS X 0208 with escapes', coded(JIS, ISO_2022_JP), true, '日本'],
    ['Shift JIS', coded(JIS, SHIFT_JIS), true, '日本'],
    ['ASCII under JIS', coded(JIS, Buffer.from('plain')), true, 'plain'],
    ['ASCII', coded(ASCII, Buffer.from('plain\0\0')), true, 'plain'],
    ['UTF-8 under ASCII', coded(ASCII, Buffer.from('Größe')), true, 'Größe'],
    ['Latin-1 under ASCII', coded(ASCII, Buffer.from('Größe', 'latin1')), true, 'Größe'],
    ['no code', coded(NO_CODE, Buffer.from('plain')), true, 'plain'],
    ['text where the code should be', Buffer.from('A comment'), true, 'A comment'],
    ['short text where the code should be', Buffer.from('short'), true, 'short'],
    ['no text', coded(NO_CODE, Buffer.from([1, 2, 3])), true, undefined],
    ['nothing', Buffer.alloc(0), true, ''],
  ];
  for (const [name, bytes, littleEndian, text] of texts)
    t.equal(decodeExifText(bytes, littleEndian), text, name);
});

/** A TIFF structure with a user comment, and a field of GPS of the same form. */
function exifOf(text: Buffer, littleEndian: boolean): Buffer {
  const tiff = Buffer.alloc(68);
  const u16 = (value: number, at: number) =>
    littleEndian ? tiff.writeUInt16LE(value, at) : tiff.writeUInt16BE(value, at);
  const u32 = (value: number, at: number) =>
    littleEndian ? tiff.writeUInt32LE(value, at) : tiff.writeUInt32BE(value, at);
  const directory = (at: number, entries: [tag: number, type: number, count: number, value: number][]) => {
    u16(entries.length, at);
    for (const [index, [tag, type, count, value]] of entries.entries()) {
      const entry = at + 2 + index * 12;
      u16(tag, entry);
      u16(type, entry + 2);
      u32(count, entry + 4);
      u32(value, entry + 8);
    }
  };
  tiff.write(littleEndian ? 'II' : 'MM', 'latin1');
  u16(42, 2);
  u32(8, 4);
  directory(8, [
    [0x8769, 4, 1, 38],
    [0x8825, 4, 1, 52],
  ]);
  directory(38, [[0x9286, 7, text.length, 68]]);
  directory(52, [[0x001b, 7, text.length, 68]]);
  return Buffer.concat([tiff, text]);
}

t.test('comments in any code are told as text', async (t) => {
  const create = { width: 8, height: 8, channels: 3, background: '#369' } as const;
  const jpeg = await sharp({ create }).jpeg().toBuffer();
  for (const littleEndian of [true, false]) {
    for (const bytes of [coded(UNICODE, little('Größe ☃')), coded(UNICODE, big('Größe ☃'))]) {
      const exif = buildJpegSegment(
        JPEG_MARKERS.app1,
        Buffer.from('Exif\0\0', 'latin1'),
        exifOf(bytes, littleEndian),
      );
      const file = Buffer.concat([
        jpeg.subarray(0, JPEG_MARKER_BYTES),
        exif,
        jpeg.subarray(JPEG_MARKER_BYTES),
      ]);
      const comments = { UserComment: 'Größe ☃', GPSProcessingMethod: 'Größe ☃' };
      t.match(await describeImage(new Uint8Array(file)), { metadata: { exif: comments } });
    }
  }
});

t.test('the comment of the cases is told', corpus, async (t) => {
  const told = await describeImage(caseFile('jpeg-unicode-comment.jpg'));
  t.match(told, { metadata: { exif: { UserComment: 'Größe ☃' } } });
});
