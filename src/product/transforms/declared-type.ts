import { type Header, readHeader } from '../../imaging/pixels/header/header.ts';
import { ApiError } from '../../platform/http/errors.ts';

/** The bytes of an image, and what they were said to be. */
export interface DeclaredImage {
  bytes: Uint8Array<ArrayBuffer>;
  /** A media type; null when nothing was said. */
  declaredType: string | null;
}

/** An image that is what it was said to be. */
export interface CheckedImage extends DeclaredImage {
  /** As the bytes say it; null for bytes that are not an image, and while nobody has read them. */
  header: Header | null;
}

/** Media types as people write them, without their `x-`. */
const ALIASES: Record<string, string> = {
  'image/jpg': 'image/jpeg',
  'image/pjpeg': 'image/jpeg',
  'image/apng': 'image/png',
  'image/tif': 'image/tiff',
  'image/svg': 'image/svg+xml',
  'image/heic': 'image/heif',
};

const TYPE_OF_EXTENSION: Record<string, string> = {
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  jfif: 'image/jpeg',
  png: 'image/png',
  apng: 'image/png',
  webp: 'image/webp',
  avif: 'image/avif',
  gif: 'image/gif',
  tif: 'image/tiff',
  tiff: 'image/tiff',
  svg: 'image/svg+xml',
};

/**
 * The image, when its bytes are what they were said to be. What is no image at all is left to its reader.
 * @throws ApiError unsupported_format for no bytes, and for those of another format than their type names.
 */
export function asDeclared(image: DeclaredImage): CheckedImage {
  const { bytes, declaredType } = image;
  if (bytes.length === 0) {
    throw new ApiError('unsupported_format', 'The image is empty: send its bytes.', { param: 'file' });
  }
  const header = readHeader(bytes);
  const found = header?.mimeType;
  if (declaredType === null || found === undefined || plain(declaredType) === found)
    return { ...image, header };
  throw new ApiError(
    'unsupported_format',
    `The bytes are ${found}, but were sent as ${declaredType}: send the type that they are.`,
    { param: 'file', details: { received: declaredType, found } },
  );
}

/** What a url's answer is said to be: the served type when it names an image, else what the extension names. */
export function servedType(contentType: string | null, extension: string | null): string | null {
  if (contentType?.startsWith('image/')) return contentType;
  return extension === null ? null : (TYPE_OF_EXTENSION[extension] ?? null);
}

function plain(type: string): string {
  const name = type.replace('image/x-', 'image/');
  return ALIASES[name] ?? name;
}
