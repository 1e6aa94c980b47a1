/**
 * A part of a container (a chunk, a segment, a block, a box), as offsets from the first byte of the file:
 *
 *     at          start               end        next
 *     | its head  | its content       | its tail | the part behind it
 *
 * at < start ≤ end ≤ next ≤ the length of the file, whatever the file claims.
 */
export interface Part {
  at: number;
  start: number;
  /** The first byte behind the content. */
  end: number;
  next: number;
  /** The file ends before this part does. It is the last one then, and `end` and `next` are the end of the file. */
  truncated: boolean;
}

/** Far more parts than any real file has. */
export const MOST_PARTS = 65_536;

/**
 * The file has more parts than anybody will read. A RangeError, like a read past the end of a file: in both cases nobody
 * can vouch for what stands there, so that whoever does not catch it refuses the file.
 */
export class TooManyParts extends RangeError {
  override readonly name = 'TooManyParts';

  constructor() {
    super(`The file has more than ${MOST_PARTS} parts.`);
  }
}

/**
 * The parts between two offsets, one behind the other. Every step goes forward and there are at most MOST_PARTS of them, so
 * that a walk ends whatever the file claims. Nothing is read before it is asked for.
 * @param partAt reads the part that begins at an offset or behind it; undefined where no whole head of one stands.
 * @param isLast whether the format ends with this part. What stands behind it is none of the file's.
 * @throws TooManyParts
 */
export function* partsBetween<P extends Part>(
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
    if (count > MOST_PARTS) throw new TooManyParts();
    yield part;
    if (part.truncated || isLast(part)) return;
    at = part.next;
  }
}
