import { Counter, Gauge } from 'prom-client';
import type { FileCache } from '../../platform/file-cache/file-cache.ts';

/** Where a delivered picture came from. */
type Origin = 'memory' | 'kept' | 'made' | 'joined';

/** What the cache has in memory, in bytes. */
type MemoryBytes = () => number;

/** The metrics of delivered pictures and of their cache. */
export class DeliveryMeter {
  readonly #pictures: Readonly<Record<Origin, Counter.Internal>>;

  constructor(cache: Pick<FileCache, 'kind' | 'readFigures' | 'evicted'>, memoryBytes: MemoryBytes) {
    const pictures = new Counter({
      name: 'darkroom_delivery_pictures_total',
      help: 'Delivered pictures by where they came from: memory, disk or bucket (where they are kept), made, or joined (made for an equal address at the same time).',
      labelNames: ['from'],
    });
    const of = (from: string) => pictures.labels({ from });
    this.#pictures = { memory: of('memory'), kept: of(cache.kind), made: of('made'), joined: of('joined') };
    for (const counter of Object.values(this.#pictures)) counter.inc(0);
    declareFigures(cache);
    new Gauge({
      name: 'darkroom_delivery_memory_bytes',
      help: 'Pictures that the processes have in memory, in bytes.',
      collect() {
        this.set(memoryBytes());
      },
    });
    new Counter({
      name: 'darkroom_delivery_evictions_total',
      help: 'Kept pictures that were deleted to make room for others.',
      collect() {
        this.reset();
        this.inc(cache.evicted);
      },
    });
  }

  answered(from: Origin): void {
    this.#pictures[from].inc();
  }
}

/**
 * Declares the gauges of the cache. Every process sees the same cache, so the process with the largest figures counts.
 */
function declareFigures(cache: Pick<FileCache, 'readFigures'>): void {
  new Gauge({
    name: 'darkroom_delivery_cache_bytes',
    help: 'What the kept pictures take, in bytes.',
    aggregator: 'max',
    async collect() {
      this.set((await cache.readFigures()).bytes);
    },
  });
  new Gauge({
    name: 'darkroom_delivery_cache_oldest_seconds',
    help: 'How long ago that kept picture was asked for that was not asked for longest. It is near zero where the cache is too small.',
    aggregator: 'max',
    async collect() {
      const { oldestUseMs } = await cache.readFigures();
      this.set(oldestUseMs === null ? 0 : Math.max(0, Date.now() - oldestUseMs) / 1_000);
    },
  });
}
