import { ByteReader } from '../../formats/bytes.ts';
import { linearToSrgb } from './colour.ts';

/**
 * Reads the curve of a grey ICC profile (ICC.1, 8.3.3), which scanners and photo editors attach, and applies it. sharp
 * ignores such a profile if the picture has 16 bits.
 */

const PROFILE_HEADER_BYTES = 128;
const TAG_ENTRY_BYTES = 12;
const MAX_PROFILE_TAGS = 100;
/** The number of parameters of each kind of parametric curve (ICC.1, 10.18). */
const PARAMETER_COUNTS_BY_CURVE_KIND = [1, 3, 4, 5, 7];

/** A function from values to linear light, both from 0 to 1. */
export type LightCurve = (value: number) => number;

/**
 * The curve of a profile, as a function from values to linear light, both from 0 to 1. Undefined for a profile that is
 * damaged or not grey.
 */
export function greyProfileCurve(profile: Uint8Array | undefined): LightCurve | undefined {
  if (profile === undefined) return undefined;
  const bytes = new ByteReader(profile);
  try {
    if (bytes.text(16, 4) !== 'GRAY') return undefined;
    const at = findTagOffset(bytes, 'kTRC');
    const curve = at === undefined ? undefined : readCurve(bytes, at);
    // With Lab as its connection space, the curve gives L*.
    return curve && bytes.text(20, 4) === 'Lab ' ? (value) => lightOfLightness(curve(value)) : curve;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/**
 * Converts grey pixels to the curve of sRGB, in place. Alpha stays.
 * @param isInverted whether 0 is white.
 */
export function convertGreyToSrgb(
  { data, channels }: { data: Uint8Array | Uint16Array; channels: number },
  curve: LightCurve,
  isInverted = false,
): void {
  const last = 256 ** data.BYTES_PER_ELEMENT - 1;
  const converted = Uint16Array.from({ length: last + 1 }, (_, level) => {
    const value = (isInverted ? last - level : level) / last;
    const srgb = Math.round(last * linearToSrgb(Math.min(1, Math.max(0, curve(value)))));
    return isInverted ? last - srgb : srgb;
  });
  const colours = channels - Number(channels % 2 === 0);
  for (let at = 0; at < data.length; at += channels)
    for (let channel = at; channel < at + colours; channel++)
      data[channel] = converted[data[channel] as number] as number;
}

function findTagOffset(bytes: ByteReader, name: string): number | undefined {
  for (let index = 0; index < Math.min(MAX_PROFILE_TAGS, bytes.u32(PROFILE_HEADER_BYTES)); index++) {
    const at = PROFILE_HEADER_BYTES + 4 + index * TAG_ENTRY_BYTES;
    if (bytes.text(at, 4) === name) return bytes.u32(at + 4);
  }
  return undefined;
}

function readCurve(bytes: ByteReader, at: number): LightCurve | undefined {
  const type = bytes.text(at, 4);
  if (type === 'curv') return readTableCurve(bytes, at);
  return type === 'para' ? readParametricCurve(bytes, at) : undefined;
}

/**
 * A curve that is stored as a table of light values. An empty table is the identity. A single value is the exponent of
 * a gamma curve.
 */
function readTableCurve(bytes: ByteReader, at: number): LightCurve {
  const count = bytes.u32(at + 8);
  if (count === 0) return (value) => value;
  if (count === 1) return (value) => value ** (bytes.u16(at + 12) / 256);
  const last = count - 1;
  const point = (index: number) => bytes.u16(at + 12 + 2 * Math.min(index, last)) / 65_535;
  return (value) => {
    const index = Math.floor(value * last);
    return point(index) + (value * last - index) * (point(index + 1) - point(index));
  };
}

function readParametricCurve(bytes: ByteReader, at: number): LightCurve | undefined {
  const kind = bytes.u16(at + 8);
  const count = PARAMETER_COUNTS_BY_CURVE_KIND[kind];
  if (count === undefined) return undefined;
  const numbers = Array.from({ length: count }, (_, index) => (bytes.u32(at + 12 + 4 * index) | 0) / 65_536);
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

/** The light, 0 to 1, of a lightness L* of 0 to 1 (CIE 1976). */
function lightOfLightness(lightness: number): number {
  const root = (lightness * 100 + 16) / 116;
  return root > 6 / 29 ? root ** 3 : (lightness * 100) / 903.3;
}
