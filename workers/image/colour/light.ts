/**
 * Linear light, 0 to 1, of each 8-bit sRGB value (IEC 61966-2-1). It is a table of 256 values, because computing a
 * power is slow.
 */
export const LINEAR_LIGHT_BY_SRGB_VALUE = Float64Array.from({ length: 256 }, (_, value) =>
  srgbToLinear(value / 255),
);

/** The linear light, 0 to 1, of an sRGB value, 0 to 1. */
export function srgbToLinear(share: number): number {
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
}

/** The sRGB value, 0 to 1, of linear light, 0 to 1. */
export function linearToSrgb(light: number): number {
  return light <= 0.0031308 ? light * 12.92 : 1.055 * light ** (1 / 2.4) - 0.055;
}
