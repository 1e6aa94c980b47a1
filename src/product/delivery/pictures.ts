import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { Counter } from 'prom-client';
import type { CachePlace, DiskCache } from '../../platform/disk-cache/disk-cache.ts';
import type { Coordination } from '../../platform/stores/coordination/port.ts';
import { MEGABYTE } from '../../platform/values/units.ts';

/** The pictures that a process keeps in memory, in bytes, and the largest of them. */
const MEMORY_BYTES = 32 * MEGABYTE;
const MAX_IN_MEMORY_BYTES = MEGABYTE / 2;
/** A process that makes a picture renews its lease meanwhile. One that was killed holds up the others for so long. */
const LEASE_MS = 3_000;
const RENEWAL_MS = LEASE_MS / 3;
/** How often a process looks for what another one makes. */
const POLL_MS = 25;
/** How long a process waits for another one, before it makes the picture itself. */
const MAX_WAIT_MS = 10_000;

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
  disk: DiskCache;
  coordination: Pick<Coordination, 'lease' | 'endLease'>;
  hostId: string;
  processId: string;
  now: () => Date;
}

/**
 * Makes each picture once and keeps it: equal orders at the same time wait for one making, in this process by one
 * promise, over the processes by a lease. What was made is on the disk, and what is asked for again is in memory, too.
 */
export class Pictures {
  readonly #options: PicturesOptions;
  readonly #running = new Map<string, Promise<Picture>>();
  readonly #memory = new LRUCache<string, Picture>({
    maxSize: MEMORY_BYTES,
    maxEntrySize: MAX_IN_MEMORY_BYTES,
    sizeCalculation: ({ bytes }) => bytes.length + 1,
  });
  readonly #answers = new Counter({
    name: 'darkroom_delivery_pictures_total',
    help: 'Delivered pictures by where they came from: memory, disk, made, or joined (made for an equal address at the same time).',
    labelNames: ['from'],
  });

  constructor(options: PicturesOptions) {
    this.#options = options;
  }

  /** The picture, made if it is not kept. @throws what its making throws; the next order tries anew. */
  async get(order: PictureOrder): Promise<Picture> {
    const key = keyOf(order.place);
    const kept = this.#memory.get(key);
    if (kept !== undefined && this.#isFresh(kept, order)) return this.#counted('memory', kept);
    const running = this.#running.get(key);
    if (running !== undefined) return this.#counted('joined', await running);
    const found = this.#findOrMake(order).finally(() => this.#running.delete(key));
    this.#running.set(key, found);
    return found;
  }

  /** The picture if it is kept and fresh, else null. */
  async find(order: Pick<PictureOrder, 'place' | 'freshMs'>): Promise<Picture | null> {
    const kept = this.#memory.get(keyOf(order.place)) ?? (await this.#read(order.place));
    return kept !== null && this.#isFresh(kept, order) ? kept : null;
  }

  /** Deletes all pictures that were made of one source. */
  async forget({ owner, group }: Omit<CachePlace, 'name'>): Promise<void> {
    const prefix = keyOf({ owner, group, name: '' });
    for (const key of this.#memory.keys()) if (key.startsWith(prefix)) this.#memory.delete(key);
    await this.#options.disk.removeGroup({ owner, group });
  }

  async #findOrMake(order: PictureOrder): Promise<Picture> {
    const kept = await this.#read(order.place);
    if (kept !== null && this.#isFresh(kept, order)) return this.#counted('disk', kept);
    try {
      return await this.#makeOnce(order);
    } catch (error) {
      if (kept === null || this.#ageOf(kept) > order.staleMs) throw error;
      return this.#counted('disk', kept);
    }
  }

  /** Makes the picture, or takes it from the process of this host that makes it at this time. */
  async #makeOnce(order: PictureOrder): Promise<Picture> {
    const { coordination, disk, hostId, processId } = this.#options;
    if (disk.isOff) return this.#make(order);
    const name = `delivery/${keyOf(order.place)}`;
    const owner = `${hostId}/${processId}`;
    // A store that is away costs a picture that is made twice, and no answer.
    const takeLease = () => coordination.lease(name, owner, LEASE_MS).catch(() => true);
    for (let waitedMs = 0; !(await takeLease()) && waitedMs < MAX_WAIT_MS; waitedMs += POLL_MS) {
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
    await this.#options.disk.write(order.place, facts, bytes);
    if (await order.isWanted()) this.#memory.set(keyOf(order.place), picture);
    else await this.forget(order.place);
    return this.#counted('made', picture);
  }

  /** Reads the disk; what is found there was asked for again, and is kept in memory. */
  async #read(place: CachePlace): Promise<Picture | null> {
    const found = await this.#options.disk.read(place);
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

  #counted(from: 'memory' | 'disk' | 'made' | 'joined', picture: Picture): Picture {
    this.#answers.inc({ from });
    return picture;
  }
}

function keyOf({ owner, group, name }: CachePlace): string {
  return `${owner}/${group}/${name}`;
}
