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
  return markTransferableWith(sent, [sent]);
}

/**
 * Does the same for an answer that holds several files.
 * @param parcels the files, each after `withOwnMemory`.
 */
export function markTransferableWith<T extends object>(answer: T, parcels: readonly Parcel[]): T {
  const buffers = parcels.map(({ data }) => data.buffer);
  const parcel = {
    get [transferableSymbol]() {
      return buffers;
    },
    get [valueSymbol]() {
      return answer;
    },
  };
  // Piscina unwraps the parcel when it sends it, so that the receiver gets the answer itself.
  return move(parcel) as unknown as T;
}

/**
 * Gives bytes a buffer of their own. Bytes that share a buffer, as small Buffers do, cannot be transferred, and are
 * copied.
 */
export function withOwnMemory<T extends Parcel>(part: T): T {
  const { data } = part;
  return data.byteLength === data.buffer.byteLength ? part : { ...part, data: new Uint8Array(data) };
}
