import type { IncomingMessage } from 'node:http';
import { firstFrameWarning } from '../../../workers/image/frames.ts';
import type { ImageHeader } from '../../imaging/images/header/facts.ts';
import { readImageHeader } from '../../imaging/images/header/header.ts';
import type { ImageWorkers } from '../../imaging/images/image-workers.ts';
import { ApiError } from '../../platform/http/errors/errors.ts';
import type { OutboundRequests } from '../../platform/outbound/outbound.ts';
import { MEGABYTE_BYTES } from '../../platform/values/units.ts';
import type { Model } from '../models/models.ts';
import { type ProviderEndpoint, requestProviderBytes } from './exchange.ts';
import { type ModelPicture, unavailableFault } from './provider.ts';

/** The formats that every provider reads. */
const COMMON_FORMATS = ['jpeg', 'png', 'webp'] as const;

const MODEL_PICTURE_QUALITY = 92;
const PREPARE_TIMEOUT_MS = 60_000;

/**
 * Prepares a picture for a model. A picture is sent unchanged if every provider can read it as it is. This excludes a
 * picture that is larger than the model's max_input_edge, has an orientation tag, is animated, or is in a format that
 * some providers do not read. Such a picture is turned upright, scaled down and re-encoded as WebP without metadata.
 * @throws ApiError unsupported_format, or the error of the image pool.
 */
export async function prepareModelPicture(
  bytes: Uint8Array<ArrayBuffer>,
  { maxInputEdge }: Model,
  { imageWorkers, accountId, signal }: { imageWorkers: ImageWorkers; accountId: string; signal: AbortSignal },
): Promise<ModelPicture> {
  const header = readImageHeader(bytes);
  const asIs = unchangedPicture(bytes, header, maxInputEdge);
  if (asIs !== undefined) return asIs;
  const box = { width: maxInputEdge, height: maxInputEdge, fit: 'inside' };
  const { result } = imageWorkers.transform({
    bytes,
    accountId,
    work: 'job',
    deadlineMs: Date.now() + PREPARE_TIMEOUT_MS,
    signal,
    pass: {
      decode: { frame: 'first' },
      steps: maxInputEdge === undefined ? [] : [{ operation: 'resize', params: box }],
      encode: { format: 'webp', quality: MODEL_PICTURE_QUALITY, metadata: 'strip' },
    },
  });
  const { data, width, height } = await result;
  const lost = header === null ? undefined : firstFrameWarning(header);
  return { bytes: data, mimeType: 'image/webp', width, height, warnings: lost ? [lost] : [] };
}

function unchangedPicture(
  bytes: Uint8Array<ArrayBuffer>,
  header: ImageHeader | null,
  maxInputEdge: number | undefined,
): ModelPicture | undefined {
  const format = COMMON_FORMATS.find((known) => known === header?.format);
  if (header === null || format === undefined || header.orientation !== 1) return undefined;
  if (firstFrameWarning(header) !== undefined) return undefined;
  const { width, height } = header;
  if (maxInputEdge !== undefined && Math.max(width, height) > maxInputEdge) return undefined;
  return { bytes, mimeType: `image/${format}`, width, height };
}

export function pictureDataUrl({ mimeType, bytes }: ModelPicture): string {
  return `data:${mimeType};base64,${Buffer.from(bytes).toString('base64')}`;
}

const MAX_PICTURE_BYTES = 64 * MEGABYTE_BYTES;
/** The time limit of a download, in milliseconds. The deadline of the call usually comes earlier. */
const FETCH_TIMEOUT_MS = 60_000;

/**
 * Decodes a picture in base64. The bytes are checked later.
 * @throws ProviderError if there is no text.
 */
export function decodeBase64Picture(text: unknown): Uint8Array<ArrayBuffer> {
  if (typeof text !== 'string' || text === '') throw unavailableFault('The model answered without an image.');
  return new Uint8Array(Buffer.from(text, 'base64'));
}

/**
 * Downloads a picture from the URL in a provider's answer. If its host is that of the provider's base URL, which the
 * operator trusts, it is requested directly; otherwise the guarded fetcher is used. No key is sent.
 * @throws ProviderError.
 */
export async function fetchProviderPicture(
  url: string,
  { baseUrl }: ProviderEndpoint,
  outbound: OutboundRequests,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const [, inline] = /^data:image\/[\w.+-]+;base64,(.+)$/s.exec(url) ?? [];
  if (inline !== undefined) return decodeBase64Picture(inline);
  const address = URL.parse(url, `${baseUrl}/`);
  if (address === null) throw unavailableFault('The model answered with an address that is not valid.');
  if (address.host === new URL(baseUrl).host) return fetchFromProviderHost(address, signal);
  const options = { limitBytes: MAX_PICTURE_BYTES, timeoutMs: FETCH_TIMEOUT_MS, signal };
  try {
    return (await outbound.fetchImage(address.href, options)).bytes;
  } catch (error) {
    if (error instanceof ApiError)
      throw unavailableFault('The picture that the model made could not be fetched.');
    throw error;
  }
}

function fetchFromProviderHost(address: URL, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
  const request = { method: 'GET' as const, headers: {} };
  const readRefusal = (response: IncomingMessage) => {
    response.destroy();
    const { statusCode } = response;
    return unavailableFault(`The picture that the model made could not be fetched (HTTP ${statusCode}).`);
  };
  return requestProviderBytes(address, request, { limitBytes: MAX_PICTURE_BYTES, readRefusal, signal });
}
