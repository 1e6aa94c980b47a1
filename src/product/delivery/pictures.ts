import { LRUCache } from 'lru-cache';
import { Counter } from 'prom-client';
import type { TransformTaskResult } from '../../../workers/protocol.ts';
import type { FileCache } from '../../platform/file-cache/file-cache.ts';
import { declareGauge } from '../../platform/metrics/gauge.ts';
import { createExpiringCache } from '../../platform/values/expiring-cache.ts';
import { MEGABYTE_BYTES } from '../../platform/values/units.ts';
import type { Leases } from './leases.ts';

const MAX_PICTURES_IN_MEMORY_BYTES = 32 * MEGABYTE_BYTES;
const MAX_PICTURE_IN_MEMORY_BYTES = MEGABYTE_BYTES / 2;
/**
 * How long the source of a cached picture is not read again after a failure, in milliseconds. In this time, the cached
 * picture is served at once.
 */
const SOURCE_RETRY_PAUSE_MS = 10_000;
const MAX_FAILING_PICTURES = 10_000;
/** The number of latest cache reads among which a second read of a picture puts it into memory. */
const MAX_REMEMBERED_READS = 500;

/** A finished picture: its bytes, its content type, its size in pixels, and its ETag. */
export interface FinishedPicture extends Pick<TransformTaskResult, 'contentType' | 'width' | 'height'> {
  bytes: Buffer;
  /** The ETag without quotes. */
  etag: string;
}

export interface CachedPicture extends FinishedPicture {
  /** When the picture was made, in epoch milliseconds. */
  madeAtMs: number;
}

/** A picture that an address requests. Requests for the same picture have the same `path`. */
export interface PictureRequest {
  /** The path of the picture in the cache: `<account>/<source>/<name>`. */
  path: string;
  /** How long the picture is fresh, in milliseconds. Null: it always is, because its source never changes. */
  freshMs: number | null;
  /** How long a picture that is no longer fresh may be served while its source fails, in milliseconds. */
  staleMs: number;
  make(): Promise<FinishedPicture>;
  /**
   * Returns whether the picture may stay in the cache. It is called after the picture was made, because the source or
   * the preset may have been deleted meanwhile.
   */
  isWanted(): Promise<boolean>;
}

interface PicturesOptions {
  cache: FileCache;
  leases: Pick<Leases, 'hold'>;
  now: () => Date;
}

/**
 * Makes each picture once and caches it. Of several concurrent requests for a picture, only one makes it; the others
 * wait for its promise (in the same process) or its lease (in other processes). A picture that is requested again is
 * also kept in memory.
 */
export class DeliveredPictures {
  readonly #options: PicturesOptions;
  /** The pictures that are being read or made. A picture stays here until it is cached. */
  readonly #runningPictures = new Map<string, Promise<CachedPicture>>();
  readonly #memory = new LRUCache<string, CachedPicture>({
    maxSize: MAX_PICTURES_IN_MEMORY_BYTES,
    maxEntrySize: MAX_PICTURE_IN_MEMORY_BYTES,
    sizeCalculation: ({ bytes }) => bytes.length + 1,
  });
  /** The paths of pictures that were read once from the cached files. A second read keeps the picture in memory. */
  readonly #recentReads = new LRUCache<string, true>({ max: MAX_REMEMBERED_READS });
  /** The paths of cached pictures whose source failed less than SOURCE_RETRY_PAUSE_MS ago. */
  readonly #failingPaths: LRUCache<string, true>;
  readonly #counters: PictureCounters;

  constructor(options: PicturesOptions) {
    this.#options = options;
    const nowMs = () => options.now().getTime();
    this.#failingPaths = createExpiringCache(MAX_FAILING_PICTURES, SOURCE_RETRY_PAUSE_MS, nowMs);
    this.#counters = createPictureCounters(options.cache);
    declareCacheMetrics(options.cache, () => this.#memory.calculatedSize);
  }

  /** The picture if it is in memory and fresh; else null. */
  findInMemory(request: Pick<PictureRequest, 'path' | 'freshMs'>): CachedPicture | null {
    const kept = this.#memory.get(request.path);
    return kept !== undefined && this.#isFresh(kept, request) ? this.#countAnswer('memory', kept) : null;
  }

  /** Finds the picture, or makes it. If making it fails, the error is thrown, and the next request tries again. */
  async findOrMake(request: PictureRequest): Promise<CachedPicture> {
    const kept = this.findInMemory(request);
    if (kept !== null) return kept;
    const running = this.#runningPictures.get(request.path);
    if (running !== undefined) return this.#countAnswer('joined', await running);
    const answer = Promise.withResolvers<CachedPicture>();
    this.#runningPictures.set(request.path, answer.promise);
    this.#serve(request, answer.resolve)
      .catch(answer.reject)
      .finally(() => this.#runningPictures.delete(request.path));
    return answer.promise;
  }

  /**
   * Deletes all pictures that were made for an account, or from one source.
   * @param folder `<account>` or `<account>/<source>`.
   * @param prefix deletes only pictures whose names begin with this text.
   */
  async deleteAll(folder: string, prefix = ''): Promise<void> {
    for (const path of this.#memory.keys()) {
      const name = path.slice(path.lastIndexOf('/') + 1);
      if (path.startsWith(`${folder}/`) && name.startsWith(prefix)) this.#memory.delete(path);
    }
    await this.#options.cache.removeAll(folder, prefix);
  }

  /**
   * Finds or makes a picture. `answer` is called as soon as the picture exists; the promise resolves later, when the
   * picture is cached as well.
   */
  async #serve(request: PictureRequest, answer: (picture: CachedPicture) => void): Promise<void> {
    const kept = await this.#readCache(request.path);
    if (kept !== null && (this.#isFresh(kept, request) || this.#failingPaths.has(request.path)))
      return answer(this.#countAnswer('kept', kept));
    try {
      await this.#makeOnce(request, answer);
    } catch (error) {
      if (kept === null || this.#ageMsOf(kept) > request.staleMs) throw error;
      this.#failingPaths.set(request.path, true);
      answer(this.#countAnswer('kept', kept));
    }
  }

  /** Makes the picture, or reads it from the cache if another process has just made it. */
  async #makeOnce(request: PictureRequest, answer: (picture: CachedPicture) => void): Promise<void> {
    const { cache, leases } = this.#options;
    if (cache.isOff) return answer(await this.#make(request));
    await leases.hold(request.path, async () => {
      const made = await this.#readCache(request.path);
      if (made !== null && this.#isFresh(made, request)) return answer(this.#countAnswer('joined', made));
      const picture = await this.#make(request);
      answer(picture);
      await this.#keepInCache(request, picture);
    });
  }

  async #make(request: PictureRequest): Promise<CachedPicture> {
    const picture = { ...(await request.make()), madeAtMs: this.#options.now().getTime() };
    this.#memory.set(request.path, picture);
    return this.#countAnswer('made', picture);
  }

  /** Stores the picture in the cache. It is removed again if its source or preset was deleted while it was made. */
  async #keepInCache({ path, isWanted }: PictureRequest, { bytes, ...facts }: CachedPicture): Promise<void> {
    const { cache } = this.#options;
    await cache.write(path, facts, bytes);
    if (await isWanted()) return;
    this.#memory.delete(path);
    await cache.remove(path);
  }

  /**
   * Reads the cache. A picture is put into memory at its second read: one that is requested only once would displace
   * others, and would cost the garbage collector more time than the read.
   */
  async #readCache(path: string): Promise<CachedPicture | null> {
    const found = await this.#options.cache.read(path);
    if (found === null) return null;
    const picture = { ...(found.facts as Omit<CachedPicture, 'bytes'>), bytes: found.bytes };
    if (this.#recentReads.delete(path)) this.#memory.set(path, picture);
    else this.#recentReads.set(path, true);
    return picture;
  }

  #isFresh(picture: CachedPicture, { freshMs }: Pick<PictureRequest, 'freshMs'>): boolean {
    return freshMs === null || this.#ageMsOf(picture) < freshMs;
  }

  #ageMsOf({ madeAtMs }: CachedPicture): number {
    return this.#options.now().getTime() - madeAtMs;
  }

  #countAnswer(from: keyof PictureCounters, picture: CachedPicture): CachedPicture {
    this.#counters[from].inc();
    return picture;
  }
}

/**
 * The counters of delivered pictures by where they came from: memory, the cache (`kept`), new work (`made`), or the
 * running work of another request (`joined`).
 */
type PictureCounters = Readonly<Record<'memory' | 'kept' | 'made' | 'joined', Counter.Internal>>;

function createPictureCounters({ kind }: Pick<FileCache, 'kind'>): PictureCounters {
  const pictures = new Counter({
    name: 'darkroom_delivery_pictures_total',
    help: 'Delivered pictures by where they came from: memory, disk or bucket (where they are kept), made, or joined (made for an equal address at the same time).',
    labelNames: ['from'],
  });
  const counterOf = (from: string) => pictures.labels({ from });
  const counters = {
    memory: counterOf('memory'),
    kept: counterOf(kind),
    made: counterOf('made'),
    joined: counterOf('joined'),
  };
  for (const counter of Object.values(counters)) counter.inc(0);
  return counters;
}

/**
 * Declares the metrics of the cache. All processes share the cache and report the same figures, so the maximum of a
 * gauge is exported instead of the sum.
 * @param memoryBytes returns the number of bytes of the pictures that are in memory.
 */
function declareCacheMetrics(
  cache: Pick<FileCache, 'readFigures' | 'evicted'>,
  memoryBytes: () => number,
): void {
  const readBytes = async () => (await cache.readFigures()).bytes;
  declareGauge('darkroom_delivery_cache_bytes', 'What the kept pictures take, in bytes.', readBytes, 'max');
  declareGauge(
    'darkroom_delivery_cache_oldest_seconds',
    'How long ago that kept picture was asked for that was not asked for longest. It is near zero where the cache is too small.',
    async () => {
      const { oldestUseMs } = await cache.readFigures();
      return oldestUseMs === null ? 0 : Math.max(0, Date.now() - oldestUseMs) / 1_000;
    },
    'max',
  );
  const inMemory = 'Pictures that the processes have in memory, in bytes.';
  declareGauge('darkroom_delivery_memory_bytes', inMemory, memoryBytes);
  new Counter({
    name: 'darkroom_delivery_evictions_total',
    help: 'Kept pictures that were deleted to make room for others.',
    collect() {
      this.reset();
      this.inc(cache.evicted);
    },
  });
}
