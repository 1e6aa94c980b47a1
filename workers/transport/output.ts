import type { OutputInfo, Sharp } from 'sharp';
import { freeBytes } from './bytes.ts';

/** The result of a pipeline. The bytes fill their whole buffer. */
export interface PipelineOutput {
  data: Uint8Array<ArrayBuffer>;
  info: OutputInfo;
}

/**
 * Runs a pipeline and returns its result in a buffer that can be transferred. Workers get results only through this
 * module (test/architecture.ts enforces it): `toUint8Array()` of sharp 0.35.5 copies the result and never frees the
 * original, and the buffer that `toBuffer()` returns cannot be transferred. The copy made here costs the same as
 * sharp's own.
 */
export async function encodeOutput(pipeline: Sharp): Promise<PipelineOutput> {
  const { data: native, info } = await pipeline.toBuffer({ resolveWithObject: true });
  const data = new Uint8Array(native);
  freeBytes(native);
  return { data, info };
}

/**
 * Runs a pipeline and returns its result without a copy, for pixels that stay in this thread: their buffer cannot be
 * transferred. The copy would take 1 to 3 % of the CPU time of a large picture.
 */
export async function encodeLocalOutput(pipeline: Sharp): Promise<PipelineOutput> {
  const { data: native, info } = await pipeline.toBuffer({ resolveWithObject: true });
  const { buffer, byteLength } = native;
  const isWhole = buffer instanceof ArrayBuffer && buffer.byteLength === byteLength;
  return { data: isWhole ? new Uint8Array(buffer) : new Uint8Array(native), info };
}
