import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { type Admission, createAdmission } from '../../../imaging/pixels/admission.ts';
import { deadlineOf } from '../../../imaging/pixels/deadline.ts';
import type { ImageObject, ImageTags } from '../../../imaging/pixels/image-object.ts';
import type { Pixels } from '../../../imaging/pixels/pixels.ts';
import type { Capacity } from '../../../platform/capacity/capacity.ts';
import { systemClock } from '../../../platform/clock/clock.ts';
import type { Objects } from '../../../platform/stores/objects/port.ts';
import { storageUnreadable, tooManyUploads } from '../errors.ts';
import { UPLOAD_LIMIT_BYTES } from '../limits.ts';
import type { IncomingImage } from './incoming.ts';

export interface Facts {
  image: ImageObject;
  metadata: ImageTags;
}

interface IntakeOptions {
  objects: Objects;
  pixels: Pixels;
  capacity: Capacity;
}

/** From the last byte to the description: waiting for others included. */
const DESCRIBE_TIMEOUT_MS = 60_000;
const MOST_WAITING = 10_000;

function sizeOf({ imageThreads }: Capacity) {
  const slots = imageThreads() + 1;
  return { slots, budgetBytes: slots * UPLOAD_LIMIT_BYTES };
}

/** Takes bytes in: to the objects first, as they come, then to a thread that identifies them. */
export interface Intake {
  /**
   * Stores bytes as they come, and reads the image to its end. Bytes that end in an error are not stored, and that is
   * the error.
   * @returns their SHA-256 in hexadecimal.
   */
  store(key: string, image: IncomingImage): Promise<string>;
  /**
   * Reads stored bytes back and identifies them.
   * @throws ApiError unsupported_format; provider_unavailable; the signal's reason.
   */
  describe(accountId: string, key: string, client: AbortSignal): Promise<Facts>;
}

export function createIntake({ objects, pixels, capacity }: IntakeOptions): Intake {
  /**
   * Stored bytes are read back for the thread by enough uploads at once that none of the threads idles: what an upload
   * holds in memory while it waits is nothing, however many there are. Accounts take turns.
   */
  const turns: Admission = createAdmission({ ...sizeOf(capacity), limits: () => ({ calls: MOST_WAITING }) });
  capacity.onChange(() => turns.resize(sizeOf(capacity)));

  return {
    async store(key, image) {
      const hash = createHash('sha256');
      const body = Readable.from(hashed(image.bytes, hash), { objectMode: false });
      // The interface's own word for the type is on the asset; stored bytes are served by no other way.
      await objects.put(key, body, 'application/octet-stream');
      await image.end();
      return hash.digest('hex');
    },

    async describe(accountId, key, client) {
      const deadlineMs = systemClock.nowMs() + DESCRIBE_TIMEOUT_MS;
      const deadline = deadlineOf({ deadlineMs, client, clock: systemClock, late: tooManyUploads });
      try {
        const { release } = await turns.acquire({
          accountId,
          bytes: UPLOAD_LIMIT_BYTES,
          signal: deadline.signal,
        });
        try {
          const bytes = await objects.read(key, UPLOAD_LIMIT_BYTES);
          if (bytes === null) throw storageUnreadable();
          const work = pixels.describe({ bytes, accountId, deadlineMs, signal: deadline.signal });
          const { image, metadata } = await work.result;
          return { image, metadata };
        } finally {
          release();
        }
      } finally {
        deadline.end();
      }
    },
  };
}

async function* hashed(bytes: IncomingImage['bytes'], hash: { update(chunk: Uint8Array): unknown }) {
  for await (const chunk of bytes) {
    hash.update(chunk);
    yield chunk;
  }
}
