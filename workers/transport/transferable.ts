import { move, transferableSymbol, valueSymbol } from 'piscina';
import { replaceBytes } from './bytes.ts';

/**
 * Marks a thread's answer so that its bytes are transferred and not copied. The thread must not touch them afterwards.
 * Bytes that share a buffer, as small Buffers do, cannot be transferred, and are copied.
 */
export function markTransferable<T extends object>(answer: T): T {
  const buffers: ArrayBufferLike[] = [];
  const sent = replaceBytes(answer, (bytes) => {
    const own = bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes);
    buffers.push(own.buffer);
    return own;
  });
  const parcel = {
    get [transferableSymbol]() {
      return buffers;
    },
    get [valueSymbol]() {
      return sent;
    },
  };
  // Piscina unwraps the parcel when it sends it, so that the receiver gets the answer itself.
  return move(parcel) as unknown as T;
}
