import { isoBrands } from '../../../workers/formats/boxes.ts';
import { ByteReader } from '../../../workers/formats/bytes.ts';
import { HEIF_BRANDS } from './header/avif.ts';

/** A file of a known format that is not supported. */
export interface UnsupportedFormat {
  /** The name of the format in messages, with its article. */
  name: string;
  mediaType: string;
  /** What the sender of such a file can do. */
  instead: string;
  /** The text encoding of the image. Absent if the file is not an image that is written as text. */
  encoding?: TextEncoding;
}

/** How an image is written as text. */
export type TextEncoding = 'base64' | 'data-url';

const EXAMINED_HEAD_BYTES = 512;

const EXPORT_AS_JPEG_ADVICE = 'export it as JPEG';
const FORMAT_SIGNATURES: ReadonlyArray<readonly [bytes: string, file: UnsupportedFormat]> = [
  ['\xff\x0a', { name: 'a JPEG XL file', mediaType: 'image/jxl', instead: EXPORT_AS_JPEG_ADVICE }],
  ['\0\0\0\x0cJXL ', { name: 'a JPEG XL file', mediaType: 'image/jxl', instead: EXPORT_AS_JPEG_ADVICE }],
  ['\0\0\0\x0cjP  ', { name: 'a JPEG 2000 file', mediaType: 'image/jp2', instead: EXPORT_AS_JPEG_ADVICE }],
  ['BM', { name: 'a BMP file', mediaType: 'image/bmp', instead: 'export it as PNG' }],
  ['\0\0\x01\0', { name: 'an ICO file', mediaType: 'image/x-icon', instead: 'export it as PNG' }],
  ['8BPS', { name: 'a Photoshop file', mediaType: 'image/vnd.adobe.photoshop', instead: 'export it as PNG' }],
  [
    '\x1f\x8b',
    {
      name: 'gzip data (an .svgz file is that)',
      mediaType: 'application/gzip',
      instead: 'decompress it (gunzip) and send the file that comes out',
    },
  ],
  ['%PDF', { name: 'a PDF file', mediaType: 'application/pdf', instead: 'export its pages as PNG' }],
  [
    'PK\x03\x04',
    { name: 'a ZIP file', mediaType: 'application/zip', instead: 'send the images in it one by one' },
  ],
];

/** The installed libheif reads AVIF. It has no decoder for HEVC, in which HEIC files are coded. */
const HEIC_FORMAT: UnsupportedFormat = {
  name: 'a HEIC file (iPhone photo)',
  mediaType: 'image/heic',
  instead: `${EXPORT_AS_JPEG_ADVICE} (heif-convert photo.heic photo.jpg; on macOS sips -s format jpeg photo.heic --out photo.jpg)`,
};
const VIDEO_FORMAT: UnsupportedFormat = {
  name: 'a video',
  mediaType: 'video/mp4',
  instead: 'send one of its frames as JPEG',
};

/** The format of a file that is not a readable image; undefined when its first bytes do not show it. */
export function detectUnsupportedFormat(bytes: Uint8Array): UnsupportedFormat | undefined {
  const head = bytes.subarray(0, EXAMINED_HEAD_BYTES);
  const [brand] = isoBrands(new ByteReader(head));
  if (brand !== undefined) return HEIF_BRANDS.includes(brand) ? HEIC_FORMAT : VIDEO_FORMAT;
  const start = Buffer.from(head.buffer, head.byteOffset, head.byteLength).toString('latin1');
  const known = FORMAT_SIGNATURES.find(([signature]) => start.startsWith(signature));
  return known?.[1] ?? textFormatOf(start);
}

/** The encoding of an image that is written as text; undefined for any other text. */
export function imageEncodingOf(text: string): TextEncoding | undefined {
  if (/^data:image\//i.test(text)) return 'data-url';
  return /^(\/9j\/|iVBORw0KGgo|UklGR|R0lGOD)/.test(text) ? 'base64' : undefined;
}

/** The format of a text file that was sent in place of an image, such as an error page or an encoded image. */
function textFormatOf(start: string): UnsupportedFormat | undefined {
  const text = start.trimStart();
  const encoding = imageEncodingOf(text);
  if (encoding !== undefined) {
    const instead = 'decode it and send the bytes';
    return { name: 'Base64 text', mediaType: 'text/plain', instead, encoding };
  }
  if (/^<(!doctype html|html|head|body)/i.test(text)) {
    return { name: 'an HTML page', mediaType: 'text/html', instead: 'send the image that it shows' };
  }
  const isText = start.length > 0 && /^[\t\n\r\x20-\x7e]*$/.test(start);
  if (isText) return { name: 'text', mediaType: 'text/plain', instead: 'send the bytes of an image' };
  return undefined;
}
