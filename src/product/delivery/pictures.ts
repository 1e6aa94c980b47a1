import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { CachePlace, FileCache } from '../../platform/file-cache/file-cache.ts';
import type { Coordination } from '../../platform/stores/coordination/port.ts';
import { MEGABYTE } from '../../platform/values/units.ts';
import { DeliveryMeter } from './meter.ts';

/** The pictures that a process keeps in memory, in bytes, and the largest of them. */
const MEMORY_BYTES = 32 * MEGABYTE;
const MAX_IN_MEMORY_BYTES = MEGABYTE / 2;
/** A process that makes a picture renews its lease meanwhile. One that was killed holds up the others for so long. */
const LEASE_MS = 3_000;
const RENEWAL_MS = LEASE_MS / 3;
/** How often a process looks for what another one makes. */
const POLL_MS = 25;

/** A picture as it was made. */
export interface MadePicture {
  bytes: Buffer;
  contentType: string;
  width: number;
  height: number;
  /** Without quotes. */
  etag: string;
}

export interface Picture extends MadePicture {
  /** Epoch milliseconds. */
  madeAtMs: number;
}

/** A picture that an address asks for. Equal orders have equal places. */
export interface PictureOrder {
  place: CachePlace;
  /** How long the picture is kept before it is made anew; null for good, because its source never changes. */
  freshMs: number | null;
  /** How long one that is no longer fresh is answered while its source fails. */
  staleMs: number;
  make(): Promise<MadePicture>;
  /** Whether it may still be kept when it is made. */
  isWanted(): Promise<boolean>;
}

interface PicturesOptions {
  cache: FileCache;
  coordination: Pick<Coordination, 'lease' | 'endLease'>;
  hostId: string;
  processId: string;
  /** How long a process waits for another one, before it makes the picture itself. */
  waitMs: number;
  now: () => Date;
}

/**
 * Makes each picture once and keeps it: equal orders at the same time wait for one making, in this process by one
 * promise, over the processes by a lease. What was made is kept in the cache, and what is asked for again is in memory,
 * too.
 */
export class Pictures {
  readonly #options: PicturesOptions;
  readonly #running = new Map<string, Promise<Picture>>();
  readonly #memory = new LRUCache<string, Picture>({
    maxSize: MEMORY_BYTES,
    maxEntrySize: MAX_IN_MEMORY_BYTES,
    sizeCalculation: ({ bytes }) => bytes.length + 1,
  });
  readonly #meter: DeliveryMeter;

  constructor(options: PicturesOptions) {
    this.#options = options;
    this.#meter = new DeliveryMeter(options.cache, () => this.#memory.calculatedSize);
  }

  /** The picture if it is in memory and fresh, else null. */
  inMemory(order: Pick<PictureOrder, 'place' | 'freshMs'>): Picture | null {
    const kept = this.#memory.get(keyOf(order.place));
    return kept !== undefined && this.#isFresh(kept, order) ? this.#counted('memory', kept) : null;
  }

  /** The picture, made if it is not kept. @throws what its making throws; the next order tries anew. */
  async get(order: PictureOrder): Promise<Picture> {
    const kept = this.inMemory(order);
    if (kept !== null) return kept;
    const key = keyOf(order.place);
    const running = this.#running.get(key);
    if (running !== undefined) return this.#counted('joined', await running);
    const found = this.#findOrMake(order).finally(() => this.#running.delete(key));
    this.#running.set(key, found);
    return found;
  }

  /** Deletes all pictures that were made of one source. */
  async forget({ owner, group }: Omit<CachePlace, 'name'>): Promise<void> {
    this.#forgetInMemory((place) => place.owner === owner && place.group === group);
    await this.#options.cache.removeGroup({ owner, group });
  }

  /** Deletes all pictures that were made for an account. @param prefix what the names of the pictures begin with. */
  async forgetOwned(owner: string, prefix = ''): Promise<void> {
    this.#forgetInMemory((place) => place.owner === owner && place.name.startsWith(prefix));
    await this.#options.cache.removeOwned(owner, prefix);
  }

  #forgetInMemory(isDoomed: (place: CachePlace) => boolean): void {
    for (const key of this.#memory.keys()) {
      const [owner = '', group = '', name = ''] = key.split('/');
      if (isDoomed({ owner, group, name })) this.#memory.delete(key);
    }
  }

  async #findOrMake(order: PictureOrder): Promise<Picture> {
    const kept = await this.#read(order.place);
    if (kept !== null && this.#isFresh(kept, order)) return this.#counted('kept', kept);
    try {
      return await this.#makeOnce(order);
    } catch (error) {
      if (kept === null || this.#ageOf(kept) > order.staleMs) throw error;
      return this.#counted('kept', kept);
    }
  }

  /** Makes the picture, or takes it from the process that makes it at this time, if both have the same cache. */
  async #makeOnce(order: PictureOrder): Promise<Picture> {
    const { coordination, cache, hostId, processId, waitMs } = this.#options;
    if (cache.isOff) return this.#make(order);
    const name = `delivery/${keyOf(order.place)}`;
    const owner = `${hostId}/${processId}`;
    // A store that is away costs a picture that is made twice, and no answer.
    const takeLease = () => coordination.lease(name, owner, LEASE_MS).catch(() => true);
    for (let waitedMs = 0; !(await takeLease()) && waitedMs < waitMs; waitedMs += POLL_MS) {
      await sleep(POLL_MS);
    }
    const renewing = setInterval(takeLease, RENEWAL_MS);
    try {
      const made = await this.#read(order.place);
      if (made !== null && this.#isFresh(made, order)) return this.#counted('joined', made);
      return await this.#make(order);
    } finally {
      clearInterval(renewing);
      await coordination.endLease(name, owner).catch(() => undefined);
    }
  }

  async #make(order: PictureOrder): Promise<Picture> {
    const picture = { ...(await order.make()), madeAtMs: this.#options.now().getTime() };
    const { bytes, ...facts } = picture;
    await this.#options.cache.write(order.place, facts, bytes);
    if (await order.isWanted()) this.#memory.set(keyOf(order.place), picture);
    else await this.forgetOwned(order.place.owner, order.place.name);
    return this.#counted('made', picture);
  }

  /** Reads the cache; what is found there was asked for again, and is kept in memory. */
  async #read(place: CachePlace): Promise<Picture | null> {
    const found = await this.#options.cache.read(place);
    if (found === null) return null;
    const picture = { ...(found.facts as Omit<Picture, 'bytes'>), bytes: found.bytes };
    this.#memory.set(keyOf(place), picture);
    return picture;
  }

  #isFresh(picture: Picture, { freshMs }: Pick<PictureOrder, 'freshMs'>): boolean {
    return freshMs === null || this.#ageOf(picture) < freshMs;
  }

  #ageOf({ madeAtMs }: Picture): number {
    return this.#options.now().getTime() - madeAtMs;
  }

  #counted(from: Parameters<DeliveryMeter['answered']>[0], picture: Picture): Picture {
    this.#meter.answered(from);
    return picture;
  }
}

function keyOf({ owner, group, name }: CachePlace): string {
  return `${owner}/${group}/${name}`;
}
