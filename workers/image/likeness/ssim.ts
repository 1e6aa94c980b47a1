import type { PixelRaster } from './levels.ts';

/** The luma of a picture: one byte per pixel, row by row. */
export type LumaPlane = Omit<PixelRaster, 'channels'>;

/** The window of Wang et al. (2004): 11 × 11 pixels, weighted by a Gaussian of sigma 1.5. */
const WINDOW_RADIUS_PX = 5;
const WINDOW_SIGMA_PX = 1.5;
/** The constants of Wang et al. for 8 bits. They prevent a division by zero for flat windows. */
const LUMINANCE_CONSTANT = (0.01 * 255) ** 2;
const CONTRAST_CONSTANT = (0.03 * 255) ** 2;

/**
 * In larger pictures, windows are centred on every second or fourth row and column only. The mean changes by less than
 * 0.0005.
 */
const STRIDES_BY_PICTURE_SIZE = [
  { overPx: 6_000_000, stride: 4 },
  { overPx: 1_500_000, stride: 2 },
];

const WINDOW_WEIGHTS = gaussianWeights();

/**
 * Structural similarity of two pictures of the same size: the mean over all windows that lie completely within the
 * picture; 1 for identical pictures. For a picture smaller than a window, the window is cut to its size.
 */
export function computeSsim(a: LumaPlane, b: LumaPlane): number {
  const stride = STRIDES_BY_PICTURE_SIZE.find(({ overPx }) => a.width * a.height > overPx)?.stride ?? 1;
  const [marginX, marginY] = [firstWindowCentre(a.width), firstWindowCentre(a.height)];
  const row = () => new Float64Array(a.width);
  const sums = { a: row(), b: row(), squares: row(), product: row() };
  let total = 0;
  let windows = 0;
  for (let y = marginY; y < a.height - marginY; y += stride) {
    sumColumns(a, b, y, sums);
    for (let x = marginX; x < a.width - marginX; x += stride) {
      total += windowSimilarity(sums, x, a.width);
      windows++;
    }
  }
  return total / windows;
}

/** The distance from an edge to the centre of the first window. */
function firstWindowCentre(edgePx: number): number {
  return Math.min(WINDOW_RADIUS_PX, (edgePx - 1) >> 1);
}

/**
 * Weighted sums over the rows of a window, per column: of each picture, of the squares of both pictures, and of their
 * product.
 */
type WindowSums = Record<'a' | 'b' | 'squares' | 'product', Float64Array>;

function sumColumns(a: LumaPlane, b: LumaPlane, middle: number, sums: WindowSums): void {
  for (const row of Object.values(sums)) row.fill(0);
  const { width, height } = a;
  const first = Math.max(0, middle - WINDOW_RADIUS_PX);
  const last = Math.min(height - 1, middle + WINDOW_RADIUS_PX);
  const scale = 1 / weightBetween(first - middle, last - middle);
  for (let y = first; y <= last; y++) {
    const weight = (WINDOW_WEIGHTS[y - middle + WINDOW_RADIUS_PX] as number) * scale;
    for (let x = 0, at = y * width; x < width; x++, at++) {
      const pixelA = a.data[at] as number;
      const pixelB = b.data[at] as number;
      sums.a[x] = (sums.a[x] as number) + weight * pixelA;
      sums.b[x] = (sums.b[x] as number) + weight * pixelB;
      sums.squares[x] = (sums.squares[x] as number) + weight * (pixelA * pixelA + pixelB * pixelB);
      sums.product[x] = (sums.product[x] as number) + weight * pixelA * pixelB;
    }
  }
}

function windowSimilarity({ a, b, squares, product }: WindowSums, middle: number, width: number): number {
  const first = Math.max(0, middle - WINDOW_RADIUS_PX);
  const last = Math.min(width - 1, middle + WINDOW_RADIUS_PX);
  const scale = 1 / weightBetween(first - middle, last - middle);
  let [meanA, meanB, meanSquares, meanProduct] = [0, 0, 0, 0];
  for (let x = first; x <= last; x++) {
    const weight = (WINDOW_WEIGHTS[x - middle + WINDOW_RADIUS_PX] as number) * scale;
    meanA += weight * (a[x] as number);
    meanB += weight * (b[x] as number);
    meanSquares += weight * (squares[x] as number);
    meanProduct += weight * (product[x] as number);
  }
  const means = meanA * meanB;
  const squaredMeans = meanA * meanA + meanB * meanB;
  const luminance = (2 * means + LUMINANCE_CONSTANT) / (squaredMeans + LUMINANCE_CONSTANT);
  return (
    (luminance * (2 * (meanProduct - means) + CONTRAST_CONSTANT)) /
    (meanSquares - squaredMeans + CONTRAST_CONSTANT)
  );
}

function gaussianWeights(): Float64Array {
  const raw = Float64Array.from({ length: 2 * WINDOW_RADIUS_PX + 1 }, (_, at) =>
    Math.exp(-((at - WINDOW_RADIUS_PX) ** 2) / (2 * WINDOW_SIGMA_PX ** 2)),
  );
  const total = raw.reduce((sum, weight) => sum + weight, 0);
  return raw.map((weight) => weight / total);
}

/** The sum of the window weights between two distances from the centre. */
function weightBetween(first: number, last: number): number {
  if (last - first === 2 * WINDOW_RADIUS_PX) return 1;
  return WINDOW_WEIGHTS.subarray(first + WINDOW_RADIUS_PX, last + WINDOW_RADIUS_PX + 1).reduce(
    (sum, weight) => sum + weight,
    0,
  );
}

/**
 * The luma of RGB or grey pixels (Rec. 601, as in Wang et al.). Transparent parts are laid on grey.
 * @param channels of a pixel: 1, 2 (with alpha), 3 or 4 (with alpha).
 */
export function lumaOf(
  pixels: Uint8Array,
  { width, height, channels }: Omit<PixelRaster, 'data'>,
): LumaPlane {
  if (channels === 1) return { data: pixels, width, height };
  const data = new Uint8Array(width * height);
  const isGrey = channels < 3;
  const hasAlpha = channels % 2 === 0;
  for (let to = 0, at = 0; to < data.length; to++, at += channels) {
    const first = pixels[at] as number;
    const grey = isGrey
      ? first
      : 0.299 * first + 0.587 * (pixels[at + 1] as number) + 0.114 * (pixels[at + 2] as number);
    const opacity = hasAlpha ? (pixels[at + channels - 1] as number) / 255 : 1;
    data[to] = Math.round(grey * opacity + GREY_BACKGROUND * (1 - opacity));
  }
  return { data, width, height };
}

/** The grey, 0 to 255, on which transparent pixels are laid. */
const GREY_BACKGROUND = 128;
