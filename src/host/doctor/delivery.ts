import type { Settings } from '../../../config/index.ts';
import type { CacheFigures } from '../../platform/file-cache/file-cache.ts';
import { openObjects } from '../../platform/stores/open.ts';
import { DAY_MS, HOUR_MS, MEGABYTE } from '../../platform/values/units.ts';
import { openPictureCache } from '../../product/delivery/cache.ts';
import { type Finding, ok, warning } from './finding.ts';

/** The share of its space from which a cache counts as full. An eviction leaves seven eighths of the space in use. */
const FULL_SHARE = 0.85;
/** If the cache evicts files that were used within this time, pictures in use are made again. */
const MIN_OLDEST_MS = HOUR_MS;

/** Checks the cache of delivered pictures: how much it holds, and whether it is large enough. */
export async function checkDelivery({ stores, delivery }: Settings): Promise<Finding[]> {
  const settings = { ...stores, ...delivery };
  const objects = await openObjects(stores);
  const cache = openPictureCache(settings, objects, { warn: () => undefined });
  const figures = await cache.readFigures().finally(() => objects.close());
  return [judgeCache(figures, settings.DELIVERY_CACHE_MEGABYTES * MEGABYTE, Date.now())];
}

export function judgeCache(
  { files, bytes, oldestUseMs }: CacheFigures,
  maxBytes: number,
  nowMs: number,
): Finding {
  if (maxBytes === 0) return ok('Delivered pictures are not kept (DELIVERY_CACHE_MEGABYTES=0).');
  const oldestMs = oldestUseMs === null ? null : Math.max(0, nowMs - oldestUseMs);
  const age = oldestMs === null ? '' : `; the oldest was asked for ${agoOf(oldestMs)} ago`;
  const megabytes = (size: number) => Math.round(size / MEGABYTE);
  const message = `${files} delivered pictures are kept, ${megabytes(bytes)} of ${megabytes(maxBytes)} MB${age}.`;
  const isSmall = bytes > maxBytes * FULL_SHARE && oldestMs !== null && oldestMs < MIN_OLDEST_MS;
  return isSmall
    ? warning(message, 'Raise DELIVERY_CACHE_MEGABYTES: pictures that are in use are made again.')
    : ok(message);
}

function agoOf(ms: number): string {
  if (ms >= 2 * DAY_MS) return `${Math.round(ms / DAY_MS)} days`;
  return ms >= 2 * HOUR_MS ? `${Math.round(ms / HOUR_MS)} hours` : `${Math.round(ms / 60_000)} minutes`;
}
