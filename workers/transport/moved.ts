import { move, transferableSymbol, valueSymbol } from 'piscina';

/**
 * Marks a thread's answer so that its bytes are transferred and not copied. The thread must not touch them afterwards.
 * Bytes that share their memory with others, as small Buffers do, cannot be transferred, and are copied first.
 */
export function moved<T extends { data: Uint8Array<ArrayBuffer> }>(answer: T): T {
  const { data } = answer;
  const isAlone = data.byteLength === data.buffer.byteLength;
  const sent = isAlone ? answer : { ...answer, data: new Uint8Array(data) };
  const parcel = {
    get [transferableSymbol]() {
      return [sent.data.buffer];
    },
    get [valueSymbol]() {
      return sent;
    },
  };
  // Piscina unwraps the parcel when it sends it, so the receiver gets the answer itself.
  return move(parcel) as unknown as T;
}
