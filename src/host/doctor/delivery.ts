import type { Settings } from '../../../config/index.ts';
import type { FileCacheFigures } from '../../platform/file-cache/file-cache.ts';
import { openObjectStore } from '../../platform/stores/open.ts';
import { DAY_MS, HOUR_MS, MEGABYTE_BYTES } from '../../platform/values/units.ts';
import { openPictureCache } from '../../product/delivery/cache.ts';
import { type DoctorFinding, okFinding, warningFinding } from './finding.ts';

/** The share of its space from which a cache counts as full. An eviction leaves seven eighths of the space in use. */
const FULL_SHARE = 0.85;
/** If the cache evicts files that were used within this time, pictures in use are made again. */
const MIN_OLDEST_MS = HOUR_MS;

/** Checks the cache of delivered pictures: how much it holds, and whether it is large enough. */
export async function checkDeliveryCache({ stores, delivery }: Settings): Promise<DoctorFinding[]> {
  const settings = { ...stores, ...delivery };
  const objects = await openObjectStore(stores);
  const cache = openPictureCache(settings, objects, { warn: () => undefined });
  const figures = await cache.readFigures().finally(() => objects.close());
  return [judgeDeliveryCache(figures, settings.DELIVERY_CACHE_MEGABYTES * MEGABYTE_BYTES, Date.now())];
}

export function judgeDeliveryCache(
  { files, bytes, oldestUseMs }: FileCacheFigures,
  maxBytes: number,
  nowMs: number,
): DoctorFinding {
  if (maxBytes === 0) return okFinding('Delivered pictures are not kept (DELIVERY_CACHE_MEGABYTES=0).');
  const oldestMs = oldestUseMs === null ? null : Math.max(0, nowMs - oldestUseMs);
  const age = oldestMs === null ? '' : `; the oldest was asked for ${agoOf(oldestMs)} ago`;
  const megabytes = (size: number) => Math.round(size / MEGABYTE_BYTES);
  const message = `${files} delivered pictures are kept, ${megabytes(bytes)} of ${megabytes(maxBytes)} MB${age}.`;
  const isSmall = bytes > maxBytes * FULL_SHARE && oldestMs !== null && oldestMs < MIN_OLDEST_MS;
  return isSmall
    ? warningFinding(message, 'Raise DELIVERY_CACHE_MEGABYTES: pictures that are in use are made again.')
    : okFinding(message);
}

function agoOf(ms: number): string {
  if (ms >= 2 * DAY_MS) return `${Math.round(ms / DAY_MS)} days`;
  return ms >= 2 * HOUR_MS ? `${Math.round(ms / HOUR_MS)} hours` : `${Math.round(ms / 60_000)} minutes`;
}
