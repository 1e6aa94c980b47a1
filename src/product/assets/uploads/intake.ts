import { createHash, type Hash } from 'node:crypto';
import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { Admission } from '../../../imaging/images/admission.ts';
import { Deadline } from '../../../imaging/images/deadline.ts';
import type { ImageObject, ImageTags } from '../../../imaging/images/image-object.ts';
import type { ImageWorkers } from '../../../imaging/images/image-workers.ts';
import { systemClock } from '../../../platform/clock.ts';
import type { Capacity } from '../../../platform/concurrency/capacity.ts';
import type { Objects } from '../../../platform/stores/objects/port.ts';
import type { Checksums } from '../asset.ts';
import { storageUnreadable, tooManyUploads } from '../errors.ts';
import { MAX_UPLOAD_BYTES } from '../limits.ts';
import type { IncomingImage } from './incoming.ts';

export interface DescribedImage {
  image: ImageObject;
  metadata: ImageTags;
}

interface IntakeOptions {
  objects: Objects;
  imageWorkers: ImageWorkers;
  capacity: Capacity;
}

/** The timeout from the last byte to the description, including the wait in the queue. */
const DESCRIBE_TIMEOUT_MS = 60_000;
const MAX_WAITING = 10_000;

function sizeOf({ imageThreads }: Capacity) {
  const slots = imageThreads() + 1;
  return { slots, budgetBytes: slots * MAX_UPLOAD_BYTES };
}

/** Receives the bytes of uploads: they are streamed to the object store first, and then identified in a thread. */
export interface Intake {
  /**
   * Streams the image to the object store. A failed stream stores nothing, and its error is thrown.
   */
  store(key: string, image: IncomingImage): Promise<Checksums>;
  /**
   * Reads stored bytes back and identifies them.
   * @throws ApiError unsupported_format; provider_unavailable; the signal's reason.
   */
  describe(accountId: string, key: string, client: AbortSignal): Promise<DescribedImage>;
}

export function createIntake({ objects, imageWorkers, capacity }: IntakeOptions): Intake {
  /**
   * The queue before stored bytes are read back for a thread. As many uploads are admitted as keep the threads busy; a
   * waiting upload holds no bytes in memory. Accounts take turns.
   */
  const queue = new Admission({ ...sizeOf(capacity), limits: () => ({ calls: MAX_WAITING }) });
  capacity.onChange(() => queue.resize(sizeOf(capacity)));

  return {
    async store(key, image) {
      const sums: RunningSums = { hash: createHash('sha256'), crc32: 0 };
      const body = Readable.from(summed(image.bytes, sums), { objectMode: false });
      // The media type is a field of the asset, and the object is served through it only.
      await objects.put(key, body, 'application/octet-stream');
      await image.end();
      return { digest: sums.hash.digest('hex'), crc32: sums.crc32 };
    },

    async describe(accountId, key, client) {
      using ends = new DisposableStack();
      const deadlineMs = systemClock.nowMs() + DESCRIBE_TIMEOUT_MS;
      const deadline = new Deadline({ deadlineMs, client, clock: systemClock, late: tooManyUploads });
      ends.defer(() => deadline.end());
      const { signal } = deadline;
      const { release } = await queue.acquire({ accountId, bytes: MAX_UPLOAD_BYTES, signal });
      ends.defer(release);
      const bytes = await objects.read(key, MAX_UPLOAD_BYTES);
      if (bytes === null) throw storageUnreadable();
      return await imageWorkers.describe({ bytes, accountId, deadlineMs, signal }).result;
    },
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
