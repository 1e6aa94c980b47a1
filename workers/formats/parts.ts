/**
 * A part of a container (a chunk, a segment, a block, a box), as offsets from the first byte of the file:
 *
 *     at          start               end        next
 *     | its head  | its content       | its tail | the part behind it
 *
 * at < start ≤ end ≤ next ≤ the length of the file, whatever the file claims.
 */
export interface ContainerPart {
  at: number;
  start: number;
  /** Offset of the first byte after the content. */
  end: number;
  next: number;
  /**
   * Whether the file ends before this part does. It is then the last part, and `end` and `next` are the end of the
   * file.
   */
  truncated: boolean;
}

/** The most parts of a container, far more than any real file has. */
export const MAX_CONTAINER_PARTS = 65_536;

/**
 * Thrown for a file with more parts than MAX_CONTAINER_PARTS. It is a RangeError, like a read past the end of a file,
 * because in both cases the content is unknown. A caller that does not catch it refuses the file.
 */
export class TooManyPartsError extends RangeError {
  override readonly name = 'TooManyPartsError';

  constructor() {
    super(`The file has more than ${MAX_CONTAINER_PARTS} parts.`);
  }
}

/**
 * The parts between two offsets, in sequence. The iteration always ends: every step goes forward, and there are at most
 * MAX_CONTAINER_PARTS steps. A part is read only when the caller requests it. A part that claims to reach beyond `to`
 * is cut there, and its `truncated` is true.
 * @param partAt reads the part that begins at or after an offset, with `end` and `next` as the file claims them;
 * undefined if the bytes hold no complete head of a part.
 * @param isLast whether the format ends with this part. Bytes behind it do not belong to the file.
 * @throws TooManyPartsError
 */
export function* partsBetween<P extends ContainerPart>(
  from: number,
  to: number,
  partAt: (at: number) => P | undefined,
  isLast: (part: P) => boolean = () => false,
): Generator<P, void, undefined> {
  let count = 0;
  for (let at = from; at < to; ) {
    const part = partAt(at);
    if (part === undefined) return;
    count += 1;
    if (count > MAX_CONTAINER_PARTS) throw new TooManyPartsError();
    if (part.next > to) {
      part.truncated = true;
      part.end = Math.min(part.end, to);
      part.next = to;
    }
    yield part;
    if (part.truncated || isLast(part)) return;
    at = part.next;
  }
}
