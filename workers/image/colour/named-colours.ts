import type { ColourCodePoints } from '../../formats/heif.ts';
import type { Chromaticity } from '../../formats/png.ts';
import { srgbToLinear } from './colour.ts';
import { arePrimariesPossible, type DisplayColours } from './icc-profile.ts';

/**
 * Colours that a file names without a profile: by code points (ITU-T H.273), as AVIFs of phones and PNGs of HDR tools
 * do, or by the gamma and the primaries of a PNG.
 */

type NamedPrimaries = Omit<DisplayColours, 'curve'>;

const D65_WHITE: Chromaticity = [0.3127, 0.329];
/** The white of tungsten light through a filter (illuminant C), for old television and film. */
const C_WHITE: Chromaticity = [0.31, 0.316];
const BT709_PRIMARIES = 1;
export const SRGB_PRIMARIES = {
  name: 'BT.709',
  white: D65_WHITE,
  red: [0.64, 0.33],
  green: [0.3, 0.6],
  blue: [0.15, 0.06],
} satisfies NamedPrimaries;
const BT601_PRIMARIES: NamedPrimaries = {
  name: 'BT.601',
  white: D65_WHITE,
  red: [0.63, 0.34],
  green: [0.31, 0.595],
  blue: [0.155, 0.07],
};
const P3_PRIMARIES = { red: [0.68, 0.32], green: [0.265, 0.69], blue: [0.15, 0.06] } as const;
/** All primaries of H.273, except those of CIE XYZ, which no display has. */
const PRIMARIES_BY_CODE_POINT: Record<number, NamedPrimaries> = {
  [BT709_PRIMARIES]: SRGB_PRIMARIES,
  4: { name: 'BT.470 M', white: C_WHITE, red: [0.67, 0.33], green: [0.21, 0.71], blue: [0.14, 0.08] },
  5: { name: 'BT.470 BG', white: D65_WHITE, red: [0.64, 0.33], green: [0.29, 0.6], blue: [0.15, 0.06] },
  6: BT601_PRIMARIES,
  7: BT601_PRIMARIES,
  8: { name: 'Film', white: C_WHITE, red: [0.681, 0.319], green: [0.243, 0.692], blue: [0.145, 0.049] },
  9: { name: 'BT.2020', white: D65_WHITE, red: [0.708, 0.292], green: [0.17, 0.797], blue: [0.131, 0.046] },
  11: { name: 'DCI P3', white: [0.314, 0.351], ...P3_PRIMARIES },
  12: { name: 'Display P3', white: D65_WHITE, ...P3_PRIMARIES },
  22: { name: 'EBU 3213', white: D65_WHITE, red: [0.63, 0.34], green: [0.295, 0.605], blue: [0.155, 0.077] },
};
const PQ_TRANSFER = 16;
const HLG_TRANSFER = 18;

const HDR_PEAK_NITS = 1000;
const HDR_WHITE_NITS = 203;

/**
 * An exponent within 5 % of this one counts as the curve of sRGB, as in libpng, because encoders declare that curve as
 * gamma 2.2.
 */
const SRGB_EXPONENT = 2.2;
const SRGB_EXPONENT_TOLERANCE = 0.05;
/** The range of plausible exponents. Other values are treated as errors of the file. */
const PLAUSIBLE_EXPONENT_RANGE = [0.1, 10] as const;
/** The largest distance at which a chromaticity counts as that of sRGB, as in libpng. */
const CHROMATICITY_TOLERANCE = 0.01;

/** Colours that a file declares without an ICC profile, unless they are those of sRGB. */
export interface DeclaredColourSpace extends DisplayColours {
  /**
   * Whether the colours can be brighter than white. The result must then not keep the profile, because its 8 bits hold
   * no values brighter than white.
   */
  isHdr: boolean;
}

/**
 * The colour space that CICP code points name. For PQ and HLG (ITU-R BT.2100) the curve also tone-maps, as the EETF of
 * ITU-R BT.2390 does, from 1,000 cd/m² to white at 203 cd/m² (BT.2408). Tones below about 90 cd/m² stay unchanged.
 * @returns undefined for primaries that are not known here.
 */
export function colourSpaceOfCodePoints(
  codePoints: ColourCodePoints,
): DeclaredColourSpace | 'srgb' | undefined {
  const { primaries, transfer } = codePoints;
  const knownPrimaries = PRIMARIES_BY_CODE_POINT[primaries];
  // Transfer functions that are not listed are close to that of sRGB.
  const curve = TRANSFER_CURVES[transfer];
  if (knownPrimaries === undefined) return undefined;
  if (primaries === BT709_PRIMARIES && curve === undefined) return 'srgb';
  const isHdr = transfer === PQ_TRANSFER || transfer === HLG_TRANSFER;
  const name = isHdr ? `${knownPrimaries.name}, tone-mapped` : knownPrimaries.name;
  return { ...knownPrimaries, name, curve: curve ?? srgbToLinear, isHdr };
}

/** The gamma of a file, such as 0.45455, and the chromaticities of its primaries. Absent values are those of sRGB. */
export interface GammaAndPrimaries {
  gamma?: number;
  chromaticities?: { white: Chromaticity; red: Chromaticity; green: Chromaticity; blue: Chromaticity };
}

/** The colours that a gamma and chromaticities define. Impossible values are ignored. */
export function coloursOfGamma(colours: GammaAndPrimaries): DeclaredColourSpace | 'srgb' {
  const { gamma = 1 / SRGB_EXPONENT, chromaticities } = colours;
  const primaries = chromaticities && arePrimariesPossible(chromaticities) ? chromaticities : SRGB_PRIMARIES;
  const exponent = 1 / gamma;
  const [lowest, highest] = PLAUSIBLE_EXPONENT_RANGE;
  const isSrgbCurve =
    !(exponent >= lowest && exponent <= highest) ||
    Math.abs(exponent / SRGB_EXPONENT - 1) <= SRGB_EXPONENT_TOLERANCE;
  if (isSrgbCurve && areChromaticitiesNear(primaries, SRGB_PRIMARIES)) return 'srgb';
  const curve = isSrgbCurve ? srgbToLinear : (value: number) => value ** exponent;
  const name = isSrgbCurve ? 'Own primaries' : `Gamma ${exponent.toFixed(3)}`;
  return { ...primaries, name, curve, isHdr: false };
}

type Chromaticities = NonNullable<GammaAndPrimaries['chromaticities']>;

function areChromaticitiesNear(one: Chromaticities, other: Chromaticities): boolean {
  return (['white', 'red', 'green', 'blue'] as const).every((name) =>
    one[name].every(
      (value, axis) => Math.abs(value - (other[name][axis] as number)) <= CHROMATICITY_TOLERANCE,
    ),
  );
}

/** Curves that convert a channel's value, 0 to 1, to light; 1 is white. */
const TRANSFER_CURVES: Record<number, (value: number) => number> = {
  4: (value) => value ** 2.2,
  5: (value) => value ** 2.8,
  8: (value) => value,
  [PQ_TRANSFER]: (value) => toneMapToWhite(pqToNits(value)),
  [HLG_TRANSFER]: (value) => toneMapToWhite(HDR_PEAK_NITS * hlgToSceneLight(value) ** 1.2),
};

function pqToNits(value: number): number {
  const root = value ** (32 / 2523);
  return 10_000 * (Math.max(0, root - 0.8359375) / (18.8515625 - 18.6875 * root)) ** (16384 / 2610);
}

function nitsToPq(nits: number): number {
  const root = (nits / 10_000) ** (2610 / 16384);
  return ((0.8359375 + 18.8515625 * root) / (1 + 18.6875 * root)) ** (2523 / 32);
}

function hlgToSceneLight(value: number): number {
  if (value <= 0.5) return value ** 2 / 3;
  return (Math.exp((value - 0.55991073) / 0.17883277) + 0.28466892) / 12;
}

/** Maps the brightest tones along a spline, and keeps all other tones (BT.2390-11, section 5.4.1). */
function toneMapToWhite(nits: number): number {
  const peakValue = nitsToPq(HDR_PEAK_NITS);
  const whiteValue = nitsToPq(HDR_WHITE_NITS) / peakValue;
  const knee = 1.5 * whiteValue - 0.5;
  const value = Math.min(1, nitsToPq(nits) / peakValue);
  if (value <= knee) return nits / HDR_WHITE_NITS;
  const t = (value - knee) / (1 - knee);
  const mapped =
    (2 * t ** 3 - 3 * t ** 2 + 1) * knee +
    (t ** 3 - 2 * t ** 2 + t) * (1 - knee) +
    (-2 * t ** 3 + 3 * t ** 2) * whiteValue;
  return Math.min(1, pqToNits(mapped * peakValue) / HDR_WHITE_NITS);
}
