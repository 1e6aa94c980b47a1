import { move, transferableSymbol, valueSymbol } from 'piscina';

/**
 * Marks a thread's answer so that its bytes are transferred and not copied. The thread must not touch them afterwards.
 */
export function moved<T extends { data: Uint8Array<ArrayBuffer> }>(answer: T): T {
  const parcel = {
    get [transferableSymbol]() {
      return [answer.data.buffer];
    },
    get [valueSymbol]() {
      return answer;
    },
  };
  // Piscina unwraps the parcel when it sends it, so the receiver gets the answer itself.
  return move(parcel) as unknown as T;
}
