import {
  contentDispositionHeader,
  downloadFileName,
  IMAGE_CONTENT_POLICY,
  MAX_AGE_SECONDS,
} from '../assets/content/sending.ts';
import type { DeliveryAddress } from './address.ts';
import type { CachedPicture } from './pictures.ts';
import { type RequestedPicture, URL_FRESH_SECONDS, URL_STALE_SECONDS } from './resolver.ts';

const STALE_WHILE_REVALIDATE_SECONDS = 86_400;

type PictureHeaders = Readonly<Record<string, string>>;

/**
 * The headers that were last built for a requested picture, and the ETag of the picture at that time; null if they were
 * built without the picture. They are reused until the ETag changes.
 */
const cachedHeaders = new WeakMap<RequestedPicture, { etag: string | null; headers: PictureHeaders }>();

/**
 * The headers of a picture, except those that depend on the time.
 * @param picture null if only its ETag is known.
 */
export function pictureHeadersOf(requested: RequestedPicture, picture: CachedPicture | null): PictureHeaders {
  const etag = picture?.etag ?? null;
  const last = cachedHeaders.get(requested);
  if (last?.etag === etag) return last.headers;
  const headers = buildPictureHeaders(requested, picture);
  cachedHeaders.set(requested, { etag, headers });
  return headers;
}

function buildPictureHeaders(
  { asset, etag, format, tags }: RequestedPicture,
  picture: CachedPicture | null,
): PictureHeaders {
  const type = picture?.contentType ?? (format && `image/${format}`);
  return {
    etag: quoteEtag(picture?.etag ?? etag ?? ''),
    'cache-tag': tags.join(','),
    'surrogate-key': tags.join(' '),
    'x-content-type-options': 'nosniff',
    'content-security-policy': IMAGE_CONTENT_POLICY,
    'cross-origin-resource-policy': 'cross-origin',
    ...(type && {
      'content-type': type,
      'content-disposition': contentDispositionHeader(
        'inline',
        downloadFileName(asset?.name ?? asset?.id ?? 'picture', type.slice('image/'.length), false),
      ),
    }),
    ...(picture && { 'x-service-width': String(picture.width), 'x-service-height': String(picture.height) }),
  };
}

export function quoteEtag(etag: string): string {
  return `"${etag}"`;
}

/**
 * The Cache-Control header. The picture of an asset never changes; the picture of a public URL is revalidated after an
 * hour. No copy outlives the address or the asset.
 */
export function pictureCacheControl(
  { source, expiresAt }: DeliveryAddress,
  { asset }: RequestedPicture,
  nowMs: number,
): string {
  const assetEnd = asset?.expiresAt ?? null;
  const ends = [
    ...(expiresAt === null ? [] : [expiresAt * 1000]),
    ...(assetEnd === null ? [] : [Date.parse(assetEnd)]),
  ];
  const left = ends.map((end) => Math.floor((end - nowMs) / 1000));
  const longest = source.kind === 'url' ? URL_FRESH_SECONDS : MAX_AGE_SECONDS;
  const control = `public, max-age=${Math.max(0, Math.min(longest, ...left))}`;
  if (source.kind === 'asset') return `${control}, immutable`;
  if (ends.length > 0) return control;
  return `${control}, stale-while-revalidate=${STALE_WHILE_REVALIDATE_SECONDS}, stale-if-error=${URL_STALE_SECONDS}`;
}
