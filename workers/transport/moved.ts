import { move, transferableSymbol, valueSymbol } from 'piscina';

/** An answer of a thread whose bytes are moved to the receiver, not copied: the thread must not touch them again. */
export function moved<T extends { data: Uint8Array<ArrayBuffer> }>(answer: T): T {
  const parcel = {
    get [transferableSymbol]() {
      return [answer.data.buffer];
    },
    get [valueSymbol]() {
      return answer;
    },
  };
  // What Piscina unpacks on its way: the receiver gets the answer itself.
  return move(parcel) as unknown as T;
}
