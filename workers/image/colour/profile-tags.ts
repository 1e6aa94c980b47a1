import type { ByteReader } from '../../formats/bytes.ts';

/** Reads the tags of ICC profiles (ICC.1) that define a curve or a colour. */

const PROFILE_HEADER_BYTES = 128;
const TAG_ENTRY_BYTES = 12;
const MAX_PROFILE_TAGS = 100;
/** The number of parameters of each kind of parametric curve (ICC.1, 10.18). */
const PARAMETER_COUNTS_BY_CURVE_KIND = [1, 3, 4, 5, 7];

/** A function from values to linear light, both from 0 to 1. */
export type LightCurve = (value: number) => number;

/**
 * The offset of each tag, by name.
 * @throws RangeError if the profile is truncated.
 */
export function readTagOffsets(profile: ByteReader): Map<string, number> {
  const offsets = new Map<string, number>();
  for (let index = 0; index < Math.min(MAX_PROFILE_TAGS, profile.u32(PROFILE_HEADER_BYTES)); index++) {
    const at = PROFILE_HEADER_BYTES + 4 + index * TAG_ENTRY_BYTES;
    offsets.set(profile.text(at, 4), profile.u32(at + 4));
  }
  return offsets;
}

/** The XYZ of a tag. */
export function readXyz(profile: ByteReader, at: number): readonly [number, number, number] {
  return [fixedPointAt(profile, at + 8), fixedPointAt(profile, at + 12), fixedPointAt(profile, at + 16)];
}

/** The curve of a tag; undefined for a kind of curve that is not known. */
export function readCurve(profile: ByteReader, at: number): LightCurve | undefined {
  const type = profile.text(at, 4);
  if (type === 'curv') return readTableCurve(profile, at);
  return type === 'para' ? readParametricCurve(profile, at) : undefined;
}

/**
 * A curve that is stored as a table of light values. An empty table is the identity. A single value is the exponent of
 * a gamma curve.
 */
function readTableCurve(profile: ByteReader, at: number): LightCurve {
  const count = profile.u32(at + 8);
  if (count === 0) return (value) => value;
  if (count === 1) return (value) => value ** (profile.u16(at + 12) / 256);
  const last = count - 1;
  const point = (index: number) => profile.u16(at + 12 + 2 * Math.min(index, last)) / 65_535;
  return (value) => {
    const index = Math.floor(value * last);
    return point(index) + (value * last - index) * (point(index + 1) - point(index));
  };
}

function readParametricCurve(profile: ByteReader, at: number): LightCurve | undefined {
  const kind = profile.u16(at + 8);
  const count = PARAMETER_COUNTS_BY_CURVE_KIND[kind];
  if (count === undefined) return undefined;
  const numbers = Array.from({ length: count }, (_, index) => fixedPointAt(profile, at + 12 + 4 * index));
  const [g = 1, a = 1, b = 0, third = 0, fourth = 0, e = 0, f = 0] = numbers;
  const power = (value: number) => Math.max(0, a * value + b) ** g;
  switch (kind) {
    case 0:
      return (value) => value ** g;
    case 1:
      return (value) => (value >= -b / a ? power(value) : 0);
    case 2:
      return (value) => (value >= -b / a ? power(value) + third : third);
    default:
      return (value) => (value >= fourth ? power(value) + e : third * value + f);
  }
}

function fixedPointAt(profile: ByteReader, at: number): number {
  return (profile.u32(at) | 0) / 65_536;
}
