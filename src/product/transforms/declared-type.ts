import type { ImageHeader } from '../../imaging/images/header/facts.ts';
import { readImageHeader } from '../../imaging/images/header/header.ts';
import { headerCorrections } from '../../platform/http/errors/corrections.ts';
import { ApiError } from '../../platform/http/errors/errors.ts';

export interface DeclaredImage {
  bytes: Uint8Array<ArrayBuffer>;
  /** The media type that was declared for the image; null if there is none. */
  declaredType: string | null;
  /** Present if a header of the call declared the type, rather than the image's source. */
  declaredBy?: 'header';
}

/** Other common names of media types, without the prefix `x-`. */
const MEDIA_TYPE_ALIASES: Record<string, string> = {
  'image/jpg': 'image/jpeg',
  'image/pjpeg': 'image/jpeg',
  'image/jpe': 'image/jpeg',
  'image/jfif': 'image/jpeg',
  'image/pipeg': 'image/jpeg',
  'image/apng': 'image/png',
  'image/vnd.mozilla.apng': 'image/png',
  'image/avif-sequence': 'image/avif',
  'image/tif': 'image/tiff',
  'image/svg': 'image/svg+xml',
  'image/svg-xml': 'image/svg+xml',
  'image/heic': 'image/heif',
};

const MEDIA_TYPES_BY_EXTENSION: Record<string, string> = {
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
 * Checks that the bytes of an image match their declared type. Bytes that are not an image pass, because the decoder
 * refuses them later.
 * @param param the parameter of the call that contains the image or its name.
 * @returns the image with its header; the header is null for bytes that are not an image.
 * @throws ApiError unsupported_format if there are no bytes, or if their format is not the declared one.
 */
export function checkDeclaredType(
  image: DeclaredImage,
  param = 'file',
): DeclaredImage & { header: ImageHeader | null } {
  const { bytes, declaredType, declaredBy } = image;
  if (bytes.length === 0) {
    throw new ApiError('unsupported_format', 'The image is empty: send its bytes.', { param });
  }
  const header = readImageHeader(bytes);
  const found = header?.mimeType;
  if (declaredType === null || found === undefined || normalizedMediaType(declaredType) === found)
    return { ...image, header };
  throw new ApiError(
    'unsupported_format',
    `The bytes are ${found}, but were sent as ${declaredType}: send the type that they are.`,
    {
      param,
      details: { received: declaredType, found },
      corrections: declaredBy === 'header' ? headerCorrections('Content-Type', found) : [],
    },
  );
}

/**
 * The type that a download declares: the Content-Type if it is an image type, or else the type of the file extension.
 */
export function declaredTypeOfResponse(contentType: string | null, extension: string | null): string | null {
  if (contentType?.startsWith('image/')) return contentType;
  return extension === null ? null : (MEDIA_TYPES_BY_EXTENSION[extension] ?? null);
}

function normalizedMediaType(type: string): string {
  const name = type.replace('image/x-', 'image/');
  return MEDIA_TYPE_ALIASES[name] ?? name;
}
