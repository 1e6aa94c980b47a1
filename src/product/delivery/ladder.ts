import type { Rung } from './address.ts';

/** The widths of a preset that declares none: those that the loaders of web frameworks ask for. */
export const DEFAULT_LADDER: readonly number[] = [
  16, 32, 48, 64, 96, 128, 256, 384, 640, 750, 828, 1080, 1200, 1920, 2048, 3840,
];

/**
 * The width of a family's picture, in pixels. A width by itself must be a rung; one with a pixel density takes the
 * next rung from their product on.
 * @returns null off the ladder.
 */
export function widthOn(ladder: readonly number[], { width, dpr }: Rung): number | null {
  if (dpr === null) return ladder.includes(width) ? width : null;
  return ladder.find((rung) => rung >= width * dpr) ?? null;
}
