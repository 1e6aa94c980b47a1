import { strict as assert } from 'node:assert';
import { Bytes } from '../../../workers/formats/bytes.ts';
import { type Part, TooManyParts } from '../../../workers/formats/parts.ts';

/** A walk over a file, as plain data: what it told, or that the file has too many parts. */
export type Told = readonly Part[] | 'too many parts';

export type Walk = (bytes: Bytes) => Iterable<Part>;

/**
 * Bytes that a walk may read for each byte of its file: heads are read once, and data between them is searched once.
 */
const READS_A_BYTE = 4;
const READS_OF_ANY_FILE = 64;

/** Counts the bytes that are read. */
class CountedBytes extends Bytes {
  read = 0;

  override u8(at: number): number {
    this.read += 1;
    return super.u8(at);
  }

  override u16(at: number, littleEndian?: boolean): number {
    this.read += 2;
    return super.u16(at, littleEndian);
  }

  override u32(at: number, littleEndian?: boolean): number {
    this.read += 4;
    return super.u32(at, littleEndian);
  }

  override u64(at: number, littleEndian?: boolean): number {
    this.read += 8;
    return super.u64(at, littleEndian);
  }

  override fourCharacters(at: number): string {
    this.read += 4;
    return super.fourCharacters(at);
  }

  override text(at: number, length: number): string {
    this.read += length;
    return super.text(at, length);
  }

  override indexOf(value: number, from: number): number {
    const found = super.indexOf(value, from);
    this.read += Math.max(0, found - from) + 1;
    return found;
  }
}

/**
 * Walks a file, and holds what every walk promises: it tells the same whatever stands around the file in memory, and
 * its reads are proportional to the file.
 */
export function bounded<P>(
  file: Uint8Array,
  walk: (bytes: Bytes) => Iterable<P>,
): readonly P[] | 'too many parts' {
  const counted = new CountedBytes(within(file, 0));
  const told = toldBy(counted, walk);
  assert.deepEqual(toldBy(new Bytes(within(file, 255)), walk), told, 'it read outside of its bytes');
  const most = READS_A_BYTE * file.length + READS_OF_ANY_FILE;
  assert.ok(counted.read <= most, `${counted.read} bytes were read of a file of ${file.length}`);
  return told;
}

/**
 * Holds as well that the parts lie inside the file and one behind the other, and that only the last one is truncated.
 */
export function walked(file: Uint8Array, walk: Walk): Told {
  const told = bounded(file, walk);
  if (told !== 'too many parts') assertInOrder(told, file.length);
  return told;
}

/**
 * Holds the same for the file cut at every byte: its whole parts are told as before, and at most one more, truncated.
 * @returns how many parts the whole file has.
 */
export function cutEverywhere(file: Uint8Array, walk: Walk): number {
  const whole = walked(file, walk);
  assert.ok(whole !== 'too many parts');
  for (let length = 0; length < file.length; length += 1) {
    const told = walked(file.subarray(0, length), walk);
    assert.ok(told !== 'too many parts');
    const kept = told.filter(({ truncated }) => !truncated);
    assert.deepEqual(kept, whole.slice(0, kept.length), `cut at ${length}`);
    assert.equal(kept.length, whole.filter(({ next }) => next <= length).length, `cut at ${length}`);
  }
  return whole.length;
}

/** A copy of the file in the midst of a larger buffer. */
function within(file: Uint8Array, around: number): Uint8Array {
  const room = 4_096;
  const larger = new Uint8Array(file.length + 2 * room).fill(around);
  larger.set(file, room);
  return larger.subarray(room, room + file.length);
}

function toldBy<P>(bytes: Bytes, walk: (bytes: Bytes) => Iterable<P>): readonly P[] | 'too many parts' {
  try {
    return [...walk(bytes)];
  } catch (error) {
    if (error instanceof TooManyParts) return 'too many parts';
    throw error;
  }
}

function assertInOrder(parts: readonly Part[], length: number): void {
  let from = 0;
  for (const [index, { at, start, end, next, truncated }] of parts.entries()) {
    const isInOrder = from <= at && at < start && start <= end && end <= next && next <= length;
    assert.ok(isInOrder, `part ${index}: ${at}, ${start}, ${end}, ${next} of ${length} bytes`);
    assert.ok(!truncated || index === parts.length - 1, `part ${index} is truncated and not the last`);
    from = next;
  }
}
