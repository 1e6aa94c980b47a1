/** A range of bytes, from the first to the last. */
export interface ByteRange {
  /** Both ends are included. */
  start: number;
  end: number;
}
