import { ByteReader } from '../../formats/bytes.ts';
import { linearToSrgb } from './colour.ts';
import {
  colorantsOf,
  type DisplayColours,
  type Matrix3,
  makeTriple,
  solveLinearEquations,
  type Vector3,
} from './icc-profile.ts';
import { SRGB_PRIMARIES } from './named-colours.ts';
import { type LightCurve, readCurve, readTagOffsets, readXyz } from './profile-tags.ts';

/**
 * Converts 16-bit RGB from its ICC profile to sRGB. sharp converts it to Display P3 first, and by a table of 33 values
 * per channel between which it interpolates. Saturated and dark colours come out up to 24 of 255 levels wrong.
 */

/** A profile with a curve per channel and primaries (ICC.1, 8.3.2). */
export interface RgbProfile {
  curves: readonly [LightCurve, LightCurve, LightCurve];
  /** Each row gives the share of the profile's red, green and blue in one channel of sRGB. */
  toLinearSrgb: Matrix3;
}

/** Reads a profile; undefined if it is damaged, not of RGB, or has lookup tables, which would take precedence. */
export function readRgbProfile(profile: Uint8Array | undefined): RgbProfile | undefined {
  if (profile === undefined) return undefined;
  const bytes = new ByteReader(profile);
  try {
    if (bytes.text(16, 8) !== 'RGB XYZ ') return undefined;
    const tags = readTagOffsets(bytes);
    if ([...tags.keys()].some((name) => /^[AD]2B/.test(name))) return undefined;
    const channels = ['r', 'g', 'b'].map((channel) => {
      const [xyzAt, curveAt] = [tags.get(`${channel}XYZ`), tags.get(`${channel}TRC`)];
      if (xyzAt === undefined || curveAt === undefined) return undefined;
      const curve = readCurve(bytes, curveAt);
      return curve && { curve, colorant: readXyz(bytes, xyzAt) };
    });
    const [red, green, blue] = channels;
    if (red === undefined || green === undefined || blue === undefined) return undefined;
    return {
      curves: [red.curve, green.curve, blue.curve],
      toLinearSrgb: linearSrgbMatrix([red.colorant, green.colorant, blue.colorant]),
    };
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** The profile of a display. */
export function rgbProfileOf(colours: DisplayColours): RgbProfile {
  const curve = (value: number) => colours.curve(value);
  return { curves: [curve, curve, curve], toLinearSrgb: linearSrgbMatrix(colorantsOf(colours)) };
}

/** The matrix from the linear light of a profile to that of sRGB. Colorants are XYZ under D50. */
function linearSrgbMatrix(colorants: readonly Vector3[]): Matrix3 {
  const srgb = colorantsOf(SRGB_PRIMARIES);
  const toXyz = makeTriple((row) => makeTriple((column) => (srgb[column] as Vector3)[row]));
  const shares = colorants.map((colorant) => solveLinearEquations(toXyz, colorant));
  return makeTriple((row) => makeTriple((column) => (shares[column] as Vector3)[row]));
}

const MAX_SAMPLE = 65_535;
/** The number of steps of linear light for which the value in sRGB is computed. A step is a quarter of a sample. */
const LIGHT_STEPS = 4 * MAX_SAMPLE;

let srgbByLightStep: Uint16Array | undefined;

/** The values of sRGB by steps of linear light. They are computed once per thread, which takes milliseconds. */
function srgbTable(): Uint16Array {
  srgbByLightStep ??= Uint16Array.from({ length: LIGHT_STEPS + 1 }, (_, step) =>
    Math.round(MAX_SAMPLE * linearToSrgb(step / LIGHT_STEPS)),
  );
  return srgbByLightStep;
}

/** Converts RGB pixels to sRGB, in place. Alpha stays. Colours outside of sRGB are clipped per channel. */
export function convertRgbToSrgb(
  { data, channels }: { data: Uint8Array | Uint16Array; channels: number },
  { curves, toLinearSrgb }: RgbProfile,
): void {
  const [redLight, greenLight, blueLight] = curves.map((curve) =>
    Float32Array.from({ length: MAX_SAMPLE + 1 }, (_, value) =>
      Math.min(1, Math.max(0, curve(value / MAX_SAMPLE))),
    ),
  ) as [Float32Array, Float32Array, Float32Array];
  const srgb = srgbTable();
  const srgbOf = (light: number) => srgb[Math.round(LIGHT_STEPS * Math.min(1, Math.max(0, light)))] as number;
  const [[rr, rg, rb], [gr, gg, gb], [br, bg, bb]] = toLinearSrgb;
  for (let at = 0; at < data.length; at += channels) {
    const red = redLight[data[at] as number] as number;
    const green = greenLight[data[at + 1] as number] as number;
    const blue = blueLight[data[at + 2] as number] as number;
    data[at] = srgbOf(rr * red + rg * green + rb * blue);
    data[at + 1] = srgbOf(gr * red + gg * green + gb * blue);
    data[at + 2] = srgbOf(br * red + bg * green + bb * blue);
  }
}
