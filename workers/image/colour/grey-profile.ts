import { ByteReader } from '../../formats/bytes.ts';
import { linearToSrgb } from './colour.ts';
import { type LightCurve, readCurve, readTagOffsets } from './profile-tags.ts';

/**
 * Reads the curve of a grey ICC profile (ICC.1, 8.3.3), which scanners and photo editors attach, and applies it. sharp
 * ignores such a profile if the picture has 16 bits.
 */

/** The number of values that sharp computes of a curve in 8 bits. It interpolates between them. */
const SHARP_CURVE_POINTS = 33;

/**
 * The curve of a profile, as a function from values to linear light, both from 0 to 1. Undefined for a profile that is
 * damaged or not grey.
 */
export function greyProfileCurve(profile: Uint8Array | undefined): LightCurve | undefined {
  if (profile === undefined) return undefined;
  const bytes = new ByteReader(profile);
  try {
    if (bytes.text(16, 4) !== 'GRAY') return undefined;
    const at = readTagOffsets(bytes).get('kTRC');
    const curve = at === undefined ? undefined : readCurve(bytes, at);
    // With Lab as its connection space, the curve gives L*.
    return curve && bytes.text(20, 4) === 'Lab ' ? (value) => luminanceOfLightness(curve(value)) : curve;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/**
 * Whether sharp misreads a grey profile: it ignores it in 16 bits, and in 8 bits it is wrong by more than a level where
 * a curve is much steeper than that of sRGB, as in the dark tones of linear light.
 */
export function isGreyCurveMisread(curve: LightCurve, bitDepth: number): boolean {
  if (bitDepth > 8) return true;
  const srgb = (value: number) => linearToSrgb(Math.min(1, Math.max(0, curve(value))));
  const last = SHARP_CURVE_POINTS - 1;
  return Array.from({ length: 256 }, (_, level) => level / 255).some((value) => {
    const before = Math.min(last - 1, Math.floor(value * last));
    const [low, high] = [srgb(before / last), srgb((before + 1) / last)];
    return Math.abs(low + (value * last - before) * (high - low) - srgb(value)) > 1 / 255;
  });
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

/** The light, 0 to 1, of a lightness L* of 0 to 1 (CIE 1976). */
function luminanceOfLightness(lightness: number): number {
  const root = (lightness * 100 + 16) / 116;
  return root > 6 / 29 ? root ** 3 : (lightness * 100) / 903.3;
}
