import { strict as assert } from 'node:assert';
import { ByteReader } from '../../../workers/formats/bytes.ts';
import { type ContainerPart, TooManyPartsError } from '../../../workers/formats/parts.ts';

/** The result of a walk over a file: its parts, or that it has too many. */
export type WalkResult = readonly ContainerPart[] | 'too many parts';

export type Walk = (bytes: ByteReader) => Iterable<ContainerPart>;

/**
 * Bytes that a walk may read for each byte of its file: heads are read once, and data between them is searched once.
 */
const READS_A_BYTE = 4;
const READS_OF_ANY_FILE = 64;

/** Counts the bytes that are read. */
class CountedBytes extends ByteReader {
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
 * Walks a file, and asserts two properties of every walk: its result does not depend on the memory around the file, and
 * its reads are proportional to the size of the file.
 */
export function bounded<P>(
  file: Uint8Array,
  walk: (bytes: ByteReader) => Iterable<P>,
): readonly P[] | 'too many parts' {
  const counted = new CountedBytes(within(file, 0));
  const result = resultOf(counted, walk);
  assert.deepEqual(resultOf(new ByteReader(within(file, 255)), walk), result, 'it read outside of its bytes');
  const most = READS_A_BYTE * file.length + READS_OF_ANY_FILE;
  assert.ok(counted.read <= most, `${counted.read} bytes were read of a file of ${file.length}`);
  return result;
}

/**
 * Asserts as well that the parts lie inside the file and one after the other, and that only the last one is truncated.
 */
export function walked(file: Uint8Array, walk: Walk): WalkResult {
  const result = bounded(file, walk);
  if (result !== 'too many parts') assertInOrder(result, file.length);
  return result;
}

/**
 * Asserts the same for the file cut at every byte: the result has the same complete parts, and at most one truncated
 * part.
 * @returns the number of parts of the uncut file.
 */
export function cutEverywhere(file: Uint8Array, walk: Walk): number {
  const uncut = walked(file, walk);
  assert.ok(uncut !== 'too many parts');
  for (let length = 0; length < file.length; length += 1) {
    const result = walked(file.subarray(0, length), walk);
    assert.ok(result !== 'too many parts');
    const kept = result.filter(({ truncated }) => !truncated);
    assert.deepEqual(kept, uncut.slice(0, kept.length), `cut at ${length}`);
    assert.equal(kept.length, uncut.filter(({ next }) => next <= length).length, `cut at ${length}`);
  }
  return uncut.length;
}

/** A copy of the file in the middle of a larger buffer of one repeated byte. */
function within(file: Uint8Array, filler: number): Uint8Array {
  const margin = 4_096;
  const larger = new Uint8Array(file.length + 2 * margin).fill(filler);
  larger.set(file, margin);
  return larger.subarray(margin, margin + file.length);
}

function resultOf<P>(
  bytes: ByteReader,
  walk: (bytes: ByteReader) => Iterable<P>,
): readonly P[] | 'too many parts' {
  try {
    return [...walk(bytes)];
  } catch (error) {
    if (error instanceof TooManyPartsError) return 'too many parts';
    throw error;
  }
}

function assertInOrder(parts: readonly ContainerPart[], length: number): void {
  let from = 0;
  for (const [index, { at, start, end, next, truncated }] of parts.entries()) {
    const isInOrder = from <= at && at < start && start <= end && end <= next && next <= length;
    assert.ok(isInOrder, `part ${index}: ${at}, ${start}, ${end}, ${next} of ${length} bytes`);
    assert.ok(!truncated || index === parts.length - 1, `part ${index} is truncated and not the last`);
    from = next;
  }
}
