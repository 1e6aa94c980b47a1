import fc from 'fast-check';

/** A file to mutate, and the offsets at which its parts begin: most edits are made near them. */
export interface Original {
  name: string;
  file: Uint8Array;
  offsets: readonly number[];
}

export interface Mutated {
  name: string;
  edits: readonly Edit[];
  file: Uint8Array;
}

/** A position near the head of a part: the index of the part, and an offset in it. */
interface Position {
  part: number;
  offset: number;
}

type Edit =
  | ({ kind: 'write'; value: number; width: 1 | 2 | 4; littleEndian: boolean } & Position)
  | ({ kind: 'cut' | 'remove' | 'double' | 'grow'; bytes: number } & Position);

/** Lengths and offsets that readers get wrong. */
const HARD_NUMBERS = [
  0, 1, 2, 7, 8, 12, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0xffff, 0x1_0000, 0x7fff_ffff, 0xffff_ffff,
];
/** The size of a file that grew: a megabyte, the unit of the times. */
export const GROWN_BYTES = 1024 * 1024;

const position = { part: fc.nat({ max: 40 }), offset: fc.nat({ max: 24 }) };

const write = fc.record({
  kind: fc.constant('write' as const),
  ...position,
  value: fc.oneof(fc.constantFrom(...HARD_NUMBERS), fc.nat({ max: 0xffff_ffff }), fc.nat({ max: 4_096 })),
  width: fc.constantFrom(1 as const, 2 as const, 4 as const),
  littleEndian: fc.boolean(),
});

const move = fc.record({
  kind: fc.constantFrom('cut' as const, 'remove' as const, 'double' as const),
  ...position,
  bytes: fc.nat({ max: 400 }),
});

/** A few bytes, repeated: files that are made to keep a reader busy have them. */
const grow = fc.record({
  kind: fc.constant('grow' as const),
  ...position,
  bytes: fc.integer({ min: 1, max: 64 }),
});

/** Mutations of files, most of them near the heads of parts. */
export function mutationsOf(originals: readonly Original[]): fc.Arbitrary<Mutated> {
  const edits = fc.tuple(
    fc.array(fc.oneof({ weight: 4, arbitrary: write }, { weight: 1, arbitrary: move }), { maxLength: 8 }),
    fc.option(grow, { freq: 30 }),
  );
  return fc.tuple(fc.constantFrom(...originals), edits).map(([{ name, file, offsets }, [some, last]]) => {
    const all: Edit[] = last === null ? some : [...some, last];
    return { name, edits: all, file: all.reduce((edited, edit) => applied(edited, edit, offsets), file) };
  });
}

function applied(file: Uint8Array, edit: Edit, offsets: readonly number[]): Uint8Array {
  const at = Math.min(file.length, (offsets[edit.part % offsets.length] ?? 0) + edit.offset);
  const before = file.subarray(0, at);
  if (edit.kind === 'write') return written(file, at, edit);
  const range = file.subarray(at, at + edit.bytes);
  switch (edit.kind) {
    case 'cut':
      return before;
    case 'remove':
      return Buffer.concat([before, file.subarray(at + edit.bytes)]);
    case 'double':
      return Buffer.concat([before, range, file.subarray(at)]);
    case 'grow':
      return range.length === 0
        ? file
        : Buffer.concat([before, Buffer.alloc(GROWN_BYTES, range), file.subarray(at)]);
  }
}

function written(file: Uint8Array, at: number, edit: Extract<Edit, { kind: 'write' }>): Uint8Array {
  const { value, width, littleEndian } = edit;
  const copy = Buffer.from(file);
  if (at + width > copy.length) return copy;
  const small = value % 2 ** (8 * width);
  if (littleEndian) copy.writeUIntLE(small, at, width);
  else copy.writeUIntBE(small, at, width);
  return copy;
}
