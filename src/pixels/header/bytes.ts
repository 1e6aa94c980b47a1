/** Far more chunks, segments, boxes or pages than any real file has. */
const MOST_BLOCKS = 65_536;

/** Numbers at offsets of a file. Reading past its end throws a RangeError, which readHeader takes for "not an image". */
export class Bytes {
  readonly length: number;
  readonly #file: Buffer;
  readonly #view: DataView;
  #blocks = 0;

  constructor(file: Uint8Array) {
    this.length = file.length;
    this.#file = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
    this.#view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  }

  /** Counts one block of the file; more than a file may have end the reading like its end does. */
  step(): void {
    this.#blocks += 1;
    if (this.#blocks > MOST_BLOCKS) throw new RangeError('too many blocks');
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

  /** Inexact above 2^53, where no file has an offset. */
  u64(at: number, littleEndian = false): number {
    return Number(this.#view.getBigUint64(at, littleEndian));
  }

  /** Text of one character a byte; shorter at the end of the file. */
  text(at: number, length: number): string {
    return this.#file.toString('latin1', at, Math.min(at + length, this.length));
  }

  /** Where a byte value is next, or the file's length. */
  indexOf(value: number, from: number): number {
    const at = this.#file.indexOf(value, from);
    return at === -1 ? this.length : at;
  }

  /** A part of the file, sharing its memory. */
  slice(start: number, end: number): Uint8Array {
    return this.#file.subarray(start, end);
  }

  /** The same file with a part's own offsets, as EXIF blocks have. */
  from(start: number, end: number): Bytes {
    return new Bytes(this.slice(start, end));
  }
}
