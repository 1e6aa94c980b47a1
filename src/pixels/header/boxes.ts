import type { Bytes } from './bytes.ts';

/** A box of an ISO base media file: its four-character type and where its content lies. */
export interface Box {
  type: string;
  start: number;
  end: number;
}

/** The boxes side by side in a part of the file. Each is at least 8 bytes long, so a walk is linear in the part. */
export function* boxesIn(bytes: Bytes, start: number, end: number): Generator<Box> {
  const limit = Math.min(end, bytes.length);
  for (let at = start; at + 8 <= limit; ) {
    bytes.step();
    const short = bytes.u32(at);
    const isLong = short === 1;
    const size = isLong ? bytes.u64(at + 8) : short === 0 ? limit - at : short;
    const head = isLong ? 16 : 8;
    if (size < head) return;
    yield { type: bytes.text(at + 4, 4), start: at + head, end: Math.min(at + size, limit) };
    at += size;
  }
}

/** The first box of a type in a part of the file. */
export function boxIn(
  bytes: Bytes,
  part: { start: number; end: number } | undefined,
  type: string,
): Box | undefined {
  if (part === undefined) return undefined;
  for (const box of boxesIn(bytes, part.start, part.end)) if (box.type === type) return box;
  return undefined;
}

/** Follows types down from a part of the file. */
export function boxAt(
  bytes: Bytes,
  part: { start: number; end: number },
  ...types: string[]
): Box | undefined {
  let found: Box | undefined;
  for (const type of types) {
    found = boxIn(bytes, found ?? part, type);
    if (found === undefined) return undefined;
  }
  return found;
}
