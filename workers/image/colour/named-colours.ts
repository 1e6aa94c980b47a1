import type { ColourCodePoints } from '../../formats/heif.ts';
import type { Chromaticity } from '../../formats/png.ts';
import { srgbToLinear } from './colour.ts';
import { arePrimariesPossible, type DisplayColours } from './icc-profile.ts';

/**
 * Colours that a file names without a profile: by code points (ITU-T H.273), as AVIFs of phones and PNGs of HDR tools
 * do, or by the gamma and the primaries of a PNG.
 */

/** The white point of sRGB and of all primaries that code points name here. */
const D65: Chromaticity = [0.3127, 0.329];
const SRGB = { name: 'BT.709', red: [0.64, 0.33], green: [0.3, 0.6], blue: [0.15, 0.06] } as const;
const BT709 = 1;
const PRIMARIES: Record<
  number,
  { name: string; red: Chromaticity; green: Chromaticity; blue: Chromaticity }
> = {
  [BT709]: SRGB,
  9: { name: 'BT.2020', red: [0.708, 0.292], green: [0.17, 0.797], blue: [0.131, 0.046] },
  12: { name: 'Display P3', red: [0.68, 0.32], green: [0.265, 0.69], blue: [0.15, 0.06] },
};
const PQ = 16;
const HLG = 18;

const PEAK_NITS = 1000;
const WHITE_NITS = 203;

/** Exponents of gamma that count as the curve of sRGB, which writers give as 2.2: within 5 %, as in libpng. */
const SRGB_EXPONENT = 2.2;
const SRGB_EXPONENT_WITHIN = 0.05;
/** Exponents outside this range are taken for errors. */
const EXPONENTS = [0.1, 10] as const;
/** Distance at which a chromaticity counts as that of sRGB, as in libpng. */
const SAME_POINT_WITHIN = 0.01;

/** Colours that differ from sRGB, or `srgb`. */
export interface DeclaredColourSpace extends DisplayColours {
  /**
   * Whether the colours can be brighter than white. HDR values make no sense in 8 bits, so a profile suits the input's
   * pixels, but not the result's.
   */
  isHdr: boolean;
}

/**
 * The colour space that CICP code points stand for. For PQ and HLG (ITU-R BT.2100) the curve also tone-maps, as the
 * EETF of ITU-R BT.2390 does, from 1,000 cd/m² to white at 203 cd/m² (BT.2408). Tones below about 90 cd/m² stay
 * unchanged.
 * @returns undefined for primaries that are not known here.
 */
export function colourSpaceOfCodePoints({
  primaries,
  transfer,
}: ColourCodePoints): DeclaredColourSpace | 'srgb' | undefined {
  const known = PRIMARIES[primaries];
  // Transfers without their own curve are close to sRGB.
  const curve = CURVES[transfer];
  if (known === undefined) return undefined;
  if (primaries === BT709 && curve === undefined) return 'srgb';
  const isHdr = transfer === PQ || transfer === HLG;
  const name = isHdr ? `${known.name}, tone-mapped` : known.name;
  return { ...known, name, white: D65, curve: curve ?? srgbToLinear, isHdr };
}

/** The gamma of a file, such as 0.45455, and the chromaticities of its primaries. Absent values are those of sRGB. */
export interface GammaAndPrimaries {
  gamma?: number;
  chromaticities?: { white: Chromaticity; red: Chromaticity; green: Chromaticity; blue: Chromaticity };
}

/** The colours that a gamma and chromaticities define. Impossible values are ignored. */
export function coloursOfGamma({
  gamma = 1 / SRGB_EXPONENT,
  chromaticities,
}: GammaAndPrimaries): DeclaredColourSpace | 'srgb' {
  const srgb = { white: D65, red: SRGB.red, green: SRGB.green, blue: SRGB.blue };
  const primaries = chromaticities && arePrimariesPossible(chromaticities) ? chromaticities : srgb;
  const exponent = 1 / gamma;
  const [least, most] = EXPONENTS;
  const isSrgbCurve =
    !(exponent >= least && exponent <= most) ||
    Math.abs(exponent / SRGB_EXPONENT - 1) <= SRGB_EXPONENT_WITHIN;
  if (isSrgbCurve && isNear(primaries, srgb)) return 'srgb';
  const curve = isSrgbCurve ? srgbToLinear : (value: number) => value ** exponent;
  const name = isSrgbCurve ? 'Own primaries' : `Gamma ${exponent.toFixed(3)}`;
  return { ...primaries, name, curve, isHdr: false };
}

type Chromaticities = NonNullable<GammaAndPrimaries['chromaticities']>;

function isNear(one: Chromaticities, other: Chromaticities): boolean {
  return (['white', 'red', 'green', 'blue'] as const).every((name) =>
    one[name].every((value, axis) => Math.abs(value - (other[name][axis] as number)) <= SAME_POINT_WITHIN),
  );
}

/** Curves that convert a channel's value, 0 to 1, to light; 1 is white. */
const CURVES: Record<number, (value: number) => number> = {
  4: (value) => value ** 2.2,
  5: (value) => value ** 2.8,
  8: (value) => value,
  [PQ]: (value) => toneMapped(pqToNits(value)),
  [HLG]: (value) => toneMapped(PEAK_NITS * hlgToScene(value) ** 1.2),
};

function pqToNits(value: number): number {
  const root = value ** (32 / 2523);
  return 10_000 * (Math.max(0, root - 0.8359375) / (18.8515625 - 18.6875 * root)) ** (16384 / 2610);
}

function nitsToPq(nits: number): number {
  const root = (nits / 10_000) ** (2610 / 16384);
  return ((0.8359375 + 18.8515625 * root) / (1 + 18.6875 * root)) ** (2523 / 32);
}

function hlgToScene(value: number): number {
  if (value <= 0.5) return value ** 2 / 3;
  return (Math.exp((value - 0.55991073) / 0.17883277) + 0.28466892) / 12;
}

/** Maps the brightest tones along a spline, and keeps all other tones (BT.2390-11, section 5.4.1). */
function toneMapped(nits: number): number {
  const source = nitsToPq(PEAK_NITS);
  const most = nitsToPq(WHITE_NITS) / source;
  const knee = 1.5 * most - 0.5;
  const value = Math.min(1, nitsToPq(nits) / source);
  if (value <= knee) return nits / WHITE_NITS;
  const t = (value - knee) / (1 - knee);
  const mapped =
    (2 * t ** 3 - 3 * t ** 2 + 1) * knee +
    (t ** 3 - 2 * t ** 2 + t) * (1 - knee) +
    (-2 * t ** 3 + 3 * t ** 2) * most;
  return Math.min(1, pqToNits(mapped * source) / WHITE_NITS);
}
