/**
 * The requested bytes, inclusive on both ends and cut at the object's end. Throws RangeError when it begins past it.
 */
export function clippedRange(
  range: { start: number; end: number } | undefined,
  sizeBytes: number,
): { start: number; end: number } {
  if (range === undefined) return { start: 0, end: sizeBytes - 1 };
  if (range.start < 0 || range.start >= sizeBytes || range.end < range.start) {
    throw new RangeError(
      `The object has ${sizeBytes} bytes, and none of them from ${range.start} to ${range.end}.`,
    );
  }
  return { start: range.start, end: Math.min(range.end, sizeBytes - 1) };
}

export function assertWithin(limitBytes: number, sizeBytes: number): void {
  if (sizeBytes > limitBytes) {
    throw new RangeError(`The object has ${sizeBytes} bytes, more than ${limitBytes}.`);
  }
}
