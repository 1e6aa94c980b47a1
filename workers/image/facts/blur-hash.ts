import { LIGHT_OF, shareOf } from '../colour/light.ts';
import type { Size } from '../pixels/geometry.ts';

/** The digits of base 83, in the order that the format gives them. */
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~';
/** Steps of the largest coefficient, and of the others beside it. */
const SCALE_STEPS = 83;
const COEFFICIENT_STEPS = 19;

/**
 * The BlurHash of opaque RGBA pixels (https://blurha.sh). The cosine transform is made along the rows first and then down
 * the columns, which is a fifteenth of the work of every part over every pixel.
 * @param across and down: parts of the hash, 1 to 9 each.
 */
export function blurHash(rgba: Uint8Array, size: Size, across: number, down: number): string {
  const [mean = [0, 0, 0], ...parts] = coefficients(rgba, size, across, down);
  // By size: of a picture that is brighter below or on the right, the largest is negative.
  const largest = Math.max(...parts.flat().map(Math.abs));
  const step = clamped(Math.floor(largest * 2 * SCALE_STEPS - 0.5), SCALE_STEPS);
  const scale = parts.length > 0 ? (step + 1) / (2 * SCALE_STEPS) : 1;
  const [red = 0, green = 0, blue = 0] = mean.map(eightBits);
  return [
    digits(across - 1 + (down - 1) * 9, 1),
    digits(parts.length > 0 ? step : 0, 1),
    digits((red << 16) | (green << 8) | blue, 4),
    ...parts.map((part) => digits(packed(part, scale), 2)),
  ].join('');
}

/** Red, green and blue of each part, row by row; the first is the mean colour. */
function coefficients(rgba: Uint8Array, { width, height }: Size, across: number, down: number): number[][] {
  const sums = Array.from({ length: across * down }, () => [0, 0, 0]);
  const waves = Array.from({ length: across }, (_, part) => cosines(part, width));
  for (let y = 0; y < height; y++) {
    const row = rgba.subarray(4 * y * width, 4 * (y + 1) * width);
    for (const [column, wave] of waves.entries()) {
      const light = lightAlong(row, wave);
      for (let line = 0; line < down; line++) {
        const weight = Math.cos((Math.PI * line * y) / height);
        const sum = sums[line * across + column] ?? [];
        for (let channel = 0; channel < 3; channel++)
          sum[channel] = (sum[channel] ?? 0) + weight * (light[channel] ?? 0);
      }
    }
  }
  return sums.map((sum, part) => sum.map((light) => (light * (part === 0 ? 1 : 2)) / (width * height)));
}

function cosines(part: number, width: number): Float64Array {
  return Float64Array.from({ length: width }, (_, x) => Math.cos((Math.PI * part * x) / width));
}

/** The light of a row, weighted by a wave. */
function lightAlong(row: Uint8Array, wave: Float64Array): [number, number, number] {
  let [red, green, blue] = [0, 0, 0];
  for (let x = 0, at = 0; x < wave.length; x++, at += 4) {
    const weight = wave[x] ?? 0;
    red += weight * (LIGHT_OF[row[at] ?? 0] ?? 0);
    green += weight * (LIGHT_OF[row[at + 1] ?? 0] ?? 0);
    blue += weight * (LIGHT_OF[row[at + 2] ?? 0] ?? 0);
  }
  return [red, green, blue];
}

/** The sRGB value of 8 bits of light, 0 to 1. */
function eightBits(light: number): number {
  return Math.trunc(shareOf(Math.max(0, Math.min(1, light))) * 255 + 0.5);
}

/** A part as one number: the roots of its channels beside the largest coefficient. */
function packed(part: readonly number[], scale: number): number {
  return part.reduce((sum, light) => {
    const root = Math.sign(light) * Math.sqrt(Math.abs(light / scale));
    return sum * COEFFICIENT_STEPS + clamped(Math.floor(root * 9 + 9.5), COEFFICIENT_STEPS);
  }, 0);
}

function clamped(step: number, steps: number): number {
  return Math.max(0, Math.min(steps - 1, step));
}

function digits(value: number, length: number): string {
  let text = '';
  for (let left = value; text.length < length; left = Math.floor(left / DIGITS.length))
    text = `${DIGITS[left % DIGITS.length]}${text}`;
  return text;
}
