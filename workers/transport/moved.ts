import { move, transferableSymbol, valueSymbol } from 'piscina';

/** An answer with the bytes of one file. */
interface Parcel {
  data: Uint8Array<ArrayBuffer>;
}

/**
 * Marks a thread's answer so that its bytes are transferred and not copied. The thread must not touch them afterwards.
 */
export function markTransferable<T extends Parcel>(answer: T): T {
  const sent = withOwnMemory(answer);
  return movedWith(sent, [sent]);
}

/** The same for an answer that holds several files. @param parcels those of its parts, each after `withOwnMemory`. */
export function movedWith<T extends object>(answer: T, parcels: readonly Parcel[]): T {
  const buffers = parcels.map(({ data }) => data.buffer);
  const parcel = {
    get [transferableSymbol]() {
      return buffers;
    },
    get [valueSymbol]() {
      return answer;
    },
  };
  // Piscina unwraps the parcel when it sends it, so the receiver gets the answer itself.
  return move(parcel) as unknown as T;
}

/** Bytes that share their memory with others, as small Buffers do, cannot be transferred, and are copied first. */
export function withOwnMemory<T extends Parcel>(part: T): T {
  const { data } = part;
  return data.byteLength === data.buffer.byteLength ? part : { ...part, data: new Uint8Array(data) };
}
