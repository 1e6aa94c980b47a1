import type { OutputInfo, Sharp } from 'sharp';

/** What a pipeline made. */
export interface Output {
  /** Owns the whole of its memory, so that it can be transferred. */
  data: Uint8Array<ArrayBuffer>;
  info: OutputInfo;
}

/**
 * Runs a pipeline for its result. Workers have no other way to one (test/architecture.ts holds that): sharp 0.35.5's own
 * `toUint8Array()` copies the result and never frees the original, and what `toBuffer()` answers cannot be transferred.
 * The copy that is made here costs what that one costs.
 */
export async function outputOf(pipeline: Sharp): Promise<Output> {
  const { data: native, info } = await pipeline.toBuffer({ resolveWithObject: true });
  const data = new Uint8Array(native);
  free(native);
  return { data, info };
}

/** Left to the garbage collector, results of megabytes pile up between its rounds. */
function free({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}
