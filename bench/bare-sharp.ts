import sharp from 'sharp';
import { jpegEffortOptions, webpEffortOptions } from '../workers/image/encode/effort.ts';

/**
 * The baseline: bare sharp in one process with two threads (the parent sets UV_THREADPOOL_SIZE=2), without HTTP or a
 * service. It receives the case over IPC, and returns ops/s and the duration of each op.
 */
export interface BareCase {
  input: string;
  size: number;
  format: 'jpeg' | 'webp';
  quality: number;
}
export interface BareRequest {
  bareCase: BareCase;
  inFlight: number;
  durationMs: number;
}
export interface BareResult {
  perSecond: number;
  durationsMs: number[];
}

sharp.concurrency(1);
sharp.cache(false);

process.on('message', async ({ bareCase, inFlight, durationMs }: BareRequest) => {
  const input = Buffer.from(bareCase.input, 'base64');
  const durationsMs: number[] = [];
  const started = performance.now();
  const worker = async () => {
    while (performance.now() - started < durationMs) {
      const before = performance.now();
      await run(input, bareCase);
      durationsMs.push(performance.now() - before);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  const perSecond = (durationsMs.length * 1000) / (performance.now() - started);
  process.send?.({ perSecond, durationsMs } satisfies BareResult);
});

/** Does the same as the service's resize: EXIF orientation applied, sRGB, no metadata, the encoder's default effort. */
function run(input: Buffer, { size, format, quality }: BareCase): Promise<Buffer> {
  const resized = sharp(input).autoOrient().resize({ width: size, fit: 'inside', withoutEnlargement: true });
  return format === 'jpeg'
    ? resized
        .jpeg({ ...jpegEffortOptions(quality, { width: size, height: size }), quantisationTable: 3 })
        .toBuffer()
    : resized.webp({ quality, ...webpEffortOptions() }).toBuffer();
}
