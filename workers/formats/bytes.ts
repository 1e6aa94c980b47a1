/** The number of bytes that a search reads one by one before it calls the native search. */
const BYTEWISE_SEARCH_BYTES = 32;

/**
 * Reads numbers and text at offsets of a file. Reading past its end throws a RangeError, so no memory outside the file
 * is ever read.
 */
export class ByteReader {
  readonly length: number;
  readonly #file: Buffer;
  readonly #view: DataView;

  constructor(file: Uint8Array) {
    this.length = file.length;
    this.#file = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
    this.#view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  }

  u8(at: number): number {
    return this.#view.getUint8(at);
  }

  u16(at: number, littleEndian = false): number {
    return this.#view.getUint16(at, littleEndian);
  }

  u24(at: number, littleEndian = false): number {
    const low = this.u8(littleEndian ? at : at + 2);
    const high = this.u8(littleEndian ? at + 2 : at);
    return low + this.u8(at + 1) * 0x100 + high * 0x1_0000;
  }

  u32(at: number, littleEndian = false): number {
    return this.#view.getUint32(at, littleEndian);
  }

  /** The value is inexact above 2^53, where no file has an offset. */
  u64(at: number, littleEndian = false): number {
    return Number(this.#view.getBigUint64(at, littleEndian));
  }

  /** Four characters of one byte each, which name the type of a part in many containers. */
  fourCharacters(at: number): string {
    const view = this.#view;
    return String.fromCharCode(
      view.getUint8(at),
      view.getUint8(at + 1),
      view.getUint8(at + 2),
      view.getUint8(at + 3),
    );
  }

  /** Text with one character per byte. It is shorter than `length` at the end of the file. */
  text(at: number, length: number): string {
    return this.#file.toString('latin1', at, Math.min(at + length, this.length));
  }

  /**
   * Offset of the next byte with the value, or the length of the file. The nearest bytes are read one by one, because a
   * native search costs forty times as much when the next hit is near.
   */
  indexOf(value: number, from: number): number {
    const near = Math.min(from + BYTEWISE_SEARCH_BYTES, this.length);
    for (let at = from; at < near; at += 1) if (this.#file[at] === value) return at;
    const at = this.#file.indexOf(value, near);
    return at === -1 ? this.length : at;
  }

  /** A part of the file. It is a view of the same memory, so no bytes are copied. */
  slice(start: number, end: number): Uint8Array {
    return this.#file.subarray(start, end);
  }
}
