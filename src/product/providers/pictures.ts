import { readHeader } from '../../imaging/images/header/header.ts';
import type { ImageWorkers } from '../../imaging/images/image-workers.ts';
import type { Model } from '../models/models.ts';
import type { ModelPicture } from './provider.ts';

/** Formats that every provider reads; others are re-encoded. */
const READ_BY_ALL = ['jpeg', 'png', 'webp'] as const;

const QUALITY = 92;
const PREPARE_TIMEOUT_MS = 60_000;

/**
 * Prepares a picture for a model. A picture larger than its max_input_edge is turned upright, scaled down and sent as
 * WebP without metadata. The same is done with a picture that is rotated by its orientation tag, is animated, or has a
 * format that not every provider reads. Any other picture is sent unchanged.
 * @throws ApiError unsupported_format, or the error of the image pool.
 */
export async function preparedPicture(
  bytes: Uint8Array<ArrayBuffer>,
  { maxInputEdge }: Model,
  { imageWorkers, accountId, signal }: { imageWorkers: ImageWorkers; accountId: string; signal: AbortSignal },
): Promise<ModelPicture> {
  const asIs = pictureAsIs(bytes, maxInputEdge);
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
      encode: { format: 'webp', quality: QUALITY, metadata: 'strip' },
    },
  });
  const { data, width, height } = await result;
  return { bytes: data, mimeType: 'image/webp', width, height };
}

function pictureAsIs(
  bytes: Uint8Array<ArrayBuffer>,
  maxInputEdge: number | undefined,
): ModelPicture | undefined {
  const header = readHeader(bytes);
  const format = READ_BY_ALL.find((known) => known === header?.format);
  if (header === null || format === undefined || header.orientation !== 1 || header.frames > 1)
    return undefined;
  const { width, height } = header;
  if (maxInputEdge !== undefined && Math.max(width, height) > maxInputEdge) return undefined;
  return { bytes, mimeType: `image/${format}`, width, height };
}

/** A picture as a data URL in a JSON body. */
export function dataUrl({ mimeType, bytes }: ModelPicture): string {
  return `data:${mimeType};base64,${Buffer.from(bytes).toString('base64')}`;
}
