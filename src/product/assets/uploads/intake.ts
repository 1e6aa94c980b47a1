import { createHash, type Hash } from 'node:crypto';
import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { AdmissionQueue } from '../../../imaging/images/admission.ts';
import { CallDeadline } from '../../../imaging/images/deadline.ts';
import type { ImageObject, ImageTags } from '../../../imaging/images/image-object.ts';
import type { ImageWorkers } from '../../../imaging/images/image-workers.ts';
import { systemClock } from '../../../platform/clock.ts';
import type { Capacity } from '../../../platform/concurrency/capacity.ts';
import type { ObjectStore } from '../../../platform/stores/objects/port.ts';
import type { ContentChecksums } from '../asset.ts';
import { storageUnreadableError, tooManyUploadsError } from '../errors.ts';
import { MAX_UPLOAD_BYTES } from '../limits.ts';
import type { IncomingImage } from './incoming.ts';

export interface DescribedImage {
  image: ImageObject;
  metadata: ImageTags;
}

/** The timeout from the last byte to the description, including the wait in the queue. */
const DESCRIBE_TIMEOUT_MS = 60_000;
const MAX_WAITING = 10_000;

function sizeOf({ imageThreads }: Capacity) {
  const slots = imageThreads() + 1;
  return { slots, budgetBytes: slots * MAX_UPLOAD_BYTES };
}

/** Receives the bytes of uploads. They are first streamed to the object store, and then identified in a thread. */
export class UploadIntake {
  readonly #objects: ObjectStore;
  readonly #imageWorkers: ImageWorkers;
  /**
   * The queue of uploads whose stored bytes are read back for a thread. It admits as many as keep the threads busy,
   * because a waiting upload holds no bytes in memory. Accounts take turns.
   */
  readonly #queue: AdmissionQueue;

  constructor(options: { objects: ObjectStore; imageWorkers: ImageWorkers; capacity: Capacity }) {
    this.#objects = options.objects;
    this.#imageWorkers = options.imageWorkers;
    this.#queue = new AdmissionQueue({ ...sizeOf(options.capacity), limits: () => ({ calls: MAX_WAITING }) });
    options.capacity.onChange(() => this.#queue.resize(sizeOf(options.capacity)));
  }

  /** Streams the image to the object store. A failed stream stores nothing, and its error is thrown. */
  async store(key: string, image: IncomingImage): Promise<ContentChecksums> {
    const sums: RunningSums = { hash: createHash('sha256'), crc32: 0 };
    const body = Readable.from(summed(image.bytes, sums), { objectMode: false });
    // The media type is a field of the asset's document, so the object itself has none.
    await this.#objects.put(key, body, 'application/octet-stream');
    return { digest: sums.hash.digest('hex'), crc32: sums.crc32 };
  }

  /**
   * Reads stored bytes back and identifies them.
   * @param palette the largest number of palette colours. Without it, no palette is measured.
   * @throws ApiError unsupported_format; provider_unavailable; the signal's reason.
   */
  readonly describe = async (
    accountId: string,
    key: string,
    client: AbortSignal,
    palette?: number,
  ): Promise<DescribedImage> => {
    using ends = new DisposableStack();
    const deadlineMs = systemClock.nowMs() + DESCRIBE_TIMEOUT_MS;
    const deadline = new CallDeadline({ deadlineMs, client, clock: systemClock, late: tooManyUploadsError });
    ends.defer(() => deadline.end());
    const { signal } = deadline;
    const { release } = await this.#queue.acquire({ accountId, bytes: MAX_UPLOAD_BYTES, signal });
    ends.defer(release);
    const bytes = await this.#objects.read(key, MAX_UPLOAD_BYTES);
    if (bytes === null) throw storageUnreadableError();
    return await this.#imageWorkers.describe({ bytes, accountId, deadlineMs, signal, palette }).result;
  };
}

interface RunningSums {
  hash: Hash;
  crc32: number;
}

async function* summed(bytes: IncomingImage['bytes'], sums: RunningSums) {
  for await (const chunk of bytes) {
    sums.hash.update(chunk);
    sums.crc32 = crc32(chunk, sums.crc32);
    yield chunk;
  }
}
