import type { OutputInfo, Sharp } from 'sharp';

/** The result of a pipeline. */
export interface Output {
  /** The bytes own their whole buffer, so that it can be transferred. */
  data: Uint8Array<ArrayBuffer>;
  info: OutputInfo;
}

/**
 * Runs a pipeline and returns its result. Workers get results only through this function (test/architecture.ts enforces
 * it): `toUint8Array()` of sharp 0.35.5 copies the result and never frees the original, and the buffer that
 * `toBuffer()` returns cannot be transferred. The copy made here costs the same as sharp's own.
 */
export async function outputOf(pipeline: Sharp): Promise<Output> {
  const { data: native, info } = await pipeline.toBuffer({ resolveWithObject: true });
  const data = new Uint8Array(native);
  free(native);
  return { data, info };
}

/** Frees the memory at once, because results of several megabytes pile up between two runs of the garbage collector. */
function free({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}
