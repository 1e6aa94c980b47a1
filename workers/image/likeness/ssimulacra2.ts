import { fullSizeLevel, halvedLevel, type PixelRaster, type PyramidLevel, rasterHasAlpha } from './levels.ts';

/**
 * The weights of SSIMULACRA 2.1 (Sneyers, Cloudinary 2023), which its author fitted to human judgements. A row is one
 * channel at one scale. Its columns are the errors of similarity, of artefacts and of lost detail: first their means,
 * then their 4-norms.
 */
const SSIMULACRA2_WEIGHTS: readonly (readonly number[])[] = [
  // X: red against green.
  [0, 0.0007376606707406586, 0, 0, 0.0007793481682867309, 0.0],
  [0, 0.0004371155730107379, 0, 1.1041726426657346, 0.00066284834129271, 0.00015231632783718752],
  [0, 0.0016406437456599754, 0, 1.8422455520539298, 11.441172603757666, 0.0],
  [0.0007989109436015163, 0.000176816438078653, 0, 1.8787594979546387, 10.94906990605142, 0.0],
  [
    0.0007289346991508072, 0.9677937080626833, 0, 0.00014003424285435884, 0.9981766977854967,
    0.00031949755934435053,
  ],
  [0.0004550992113792063, 0, 0, 0.0013648766163243398, 0, 0.0],
  // Y: brightness.
  [0, 0, 0, 7.466890328078848, 0, 17.445833984131262],
  [0.0006235601634041466, 0, 0, 6.683678146179332, 0.00037724407979611296, 1.027889937768264],
  [225.20515300849274, 0, 0, 19.213238186143016, 0.0011401524586618361, 0.001237755635509985],
  [176.39317598450694, 0, 0, 24.43300999870476, 0.28520802612117757, 0.0004485436923833408],
  [0, 0, 0, 34.77906344483772, 44.835625328877896, 0.0],
  [0, 0, 0, 0, 0, 0.0],
  // B: blue against yellow.
  [0, 0.0008680556573291698, 0, 0, 0, 0.0],
  [0, 0.0005313191874358747, 0, 0.00016533814161379112, 0, 0.0],
  [0, 0, 0, 0.0004179171803251336, 0.0017290828234722833, 0.0],
  [0.0020827005846636437, 0, 0, 8.826982764996862, 23.19243343998926, 0.0],
  [
    95.1080498811086, 0.9863978034400682, 0.9834382792465353, 0.0012286405048278493, 171.2667255897307,
    0.9807858872435379,
  ],
  [0, 0, 0, 0.0005130064588990679, 0, 0.00010854057858411537],
];
/** The number of error columns in a row of weights. */
const ERROR_COLUMNS = 6;
/** The number of channels of the colour space XYB. */
const XYB_CHANNELS = 3;
const SCALE_COUNT = SSIMULACRA2_WEIGHTS.length / XYB_CHANNELS;
/** The smallest side, in pixels, of a picture that can be scored. */
export const MIN_SCORED_EDGE_PX = 8;
/**
 * A channel is left out at a scale if all its weights are smaller than this. That changes a score by less than 0.01,
 * and saves two thirds of the time.
 */
const NEGLIGIBLE_WEIGHT = 0.002;

/**
 * The weights of the blur, from its centre outwards: a Gaussian of sigma 1.5 from truncated cosines (Charalampidis
 * 2016). Pixels outside the picture count as zero.
 */
const GAUSSIAN_TAPS = [
  0.2646211054881984, 0.21292859201042202, 0.10933537277746015, 0.03601111465836416, 0.009414367809653693,
] as const;
const BLUR_RADIUS_PX = GAUSSIAN_TAPS.length - 1;
const RING_BUFFER_ROWS = 2 * BLUR_RADIUS_PX + 1;
/** The constant of SSIM that prevents a division by zero for flat areas. */
const CONTRAST_CONSTANT = 0.0009;

/**
 * The weights of red, green and blue in the light that each kind of cone absorbs, and the bias that is added to it (the
 * opsin absorbance of JPEG XL).
 */
const LONG_CONE_WEIGHTS = [0.3, 0.622, 0.078] as const;
const MEDIUM_CONE_WEIGHTS = [0.23, 0.692, 0.078] as const;
const SHORT_CONE_WEIGHTS = [0.24342268924547819, 0.20476744424496821, 0.5518098665095535] as const;
const OPSIN_BIAS = 0.0037930732552754493;
const OPSIN_BIAS_ROOT = Math.cbrt(OPSIN_BIAS);

/** The dark and the light grey on which transparent pixels are laid. The lower of the two scores counts. */
const GREY_BACKGROUNDS = [0.1, 0.9].map((light) => Math.round(255 * light));

/**
 * SSIMULACRA 2.1 of two pictures of the same size, at least 8 pixels along each side. The score is 100 for identical
 * pictures, 90 when a difference is hardly visible side by side, 70 for a good photograph, 50 for a fair one, and below
 * zero for a very bad one. The code follows the published description (structural similarity, artefacts and lost detail
 * in XYB at six scales), to 0.02 points. Programs with a 32-bit recursive blur give pictures with bright even areas
 * lower scores: where the score is above 80, it is up to 1.5 points lower. It takes about half a second and 6 megabytes
 * per megapixel.
 */
export function computeSsimulacra2(one: PixelRaster, other: PixelRaster): number {
  if (!rasterHasAlpha(one) && !rasterHasAlpha(other)) return scoreOnBackground(one, other, 0);
  return Math.min(...GREY_BACKGROUNDS.map((ground) => scoreOnBackground(one, other, ground)));
}

function scoreOnBackground(one: PixelRaster, other: PixelRaster, ground: number): number {
  let [a, b] = [fullSizeLevel(one, ground), fullSizeLevel(other, ground)];
  const count = scaleCountOf(a);
  let error = 0;
  for (let scale = 0; scale < count; scale++) {
    if (scale > 0) [a, b] = [halvedLevel(a), halvedLevel(b)];
    const weights = [0, 1, 2].map(
      (channel) => SSIMULACRA2_WEIGHTS[channel * count + scale] as readonly number[],
    );
    error += errorOfScale(a, b, weights);
  }
  return scoreForError(error);
}

/** The published curve from an error to the score that people give. */
function scoreForError(weightedError: number): number {
  const error = weightedError * 0.9562382616834844;
  const visibleError =
    2.326765642916932 * error - 0.020884521182843837 * error ** 2 + 6.248496625763138e-5 * error ** 3;
  return visibleError > 0 ? 100 - 10 * visibleError ** 0.6276336467831387 : 100;
}

/**
 * The number of scales on which a picture is compared; a small picture has fewer. The last scale may have a side of
 * less than 8 pixels.
 */
function scaleCountOf({ width, height }: PyramidLevel): number {
  let edgePx = Math.min(width, height);
  let count = 0;
  for (; count < SCALE_COUNT && edgePx >= MIN_SCORED_EDGE_PX; count++) {
    if (count > 0) edgePx = Math.ceil(edgePx / 2);
  }
  return count;
}

/**
 * The rows of one channel of both pictures that the blur of one row needs, as ring buffers. `a` and `b` hold the
 * channel itself, padded with zeros by the radius of the blur on both sides. The other rows are already blurred
 * horizontally. `squares` is the sum of the squares of both pictures.
 */
type ChannelRows = Record<'a' | 'b' | 'meanA' | 'meanB' | 'squares' | 'product', Float32Array[]>;

/** One channel of both pictures at one scale, while its rows are processed. */
interface ChannelComparison {
  rows: ChannelRows;
  weights: readonly number[];
  /** Sums of the errors, and of their fourth powers. */
  sums: Float64Array;
}

/**
 * The sum of the weighted errors of one scale.
 * @param weights of each channel.
 */
function errorOfScale(a: PyramidLevel, b: PyramidLevel, weights: readonly (readonly number[])[]): number {
  const { width, height } = a;
  const channels = weights.map((row) => startChannelComparison(row, width));
  const compared = channels.filter((channel) => channel !== undefined);
  if (compared.length === 0) return 0;
  const light = new Float32Array(3 * width);
  const rowsOf = (side: 'a' | 'b', slot: number) => channels.map((channel) => channel?.rows[side][slot]);
  const scratch = createScratchBuffers(width);
  for (let y = 0; y < height + BLUR_RADIUS_PX; y++) {
    const slot = y % RING_BUFFER_ROWS;
    if (y < height) {
      a.readRow(y, light);
      convertRowToXyb(light, rowsOf('a', slot));
      b.readRow(y, light);
      convertRowToXyb(light, rowsOf('b', slot));
    }
    for (const { rows, sums } of compared) {
      if (y < height) blurRowsHorizontally(rows, slot, scratch);
      else for (const ring of [rows.meanA, rows.meanB, rows.squares, rows.product]) ring[slot]?.fill(0);
      if (y >= BLUR_RADIUS_PX) addErrors(rows, y - BLUR_RADIUS_PX, scratch, sums);
    }
  }
  return compared.reduce((total, channel) => total + weightedErrorOf(channel, width * height), 0);
}

/** Starts a comparison of one channel. Undefined if the channel has no weight at this scale. */
function startChannelComparison(weights: readonly number[], width: number): ChannelComparison | undefined {
  const counts = weights.some((weight) => weight >= NEGLIGIBLE_WEIGHT);
  if (counts) return { rows: createChannelRows(width), weights, sums: new Float64Array(ERROR_COLUMNS) };
  return undefined;
}

/** Adds up the errors of a channel with their weights: first their means, then their 4-norms. */
function weightedErrorOf({ weights, sums }: ChannelComparison, pixels: number): number {
  return weights.reduce((total, weight, column) => {
    const mean = (sums[column] as number) / pixels;
    return total + weight * (column < ERROR_COLUMNS / 2 ? mean : mean ** 0.25);
  }, 0);
}

function createChannelRows(width: number): ChannelRows {
  const ring = (length: number) => Array.from({ length: RING_BUFFER_ROWS }, () => new Float32Array(length));
  const padded = () => ring(width + 2 * BLUR_RADIUS_PX);
  const plain = () => ring(width);
  return { a: padded(), b: padded(), meanA: plain(), meanB: plain(), squares: plain(), product: plain() };
}

/**
 * Buffers that are reused for each row: the products, padded by the radius of the blur, and the rows blurred in both
 * directions.
 */
type ScratchBuffers = Record<
  'squares' | 'product' | 'meanA' | 'meanB' | 'sumSquares' | 'sumProduct',
  Float32Array
>;

function createScratchBuffers(width: number): ScratchBuffers {
  const padded = () => new Float32Array(width + 2 * BLUR_RADIUS_PX);
  const plain = () => new Float32Array(width);
  return {
    squares: padded(),
    product: padded(),
    meanA: plain(),
    meanB: plain(),
    sumSquares: plain(),
    sumProduct: plain(),
  };
}

/**
 * Converts a row of linear light to XYB, shifted into the range from 0 to 1. An array that is undefined is not written.
 */
function convertRowToXyb(light: Float32Array, [intoX, intoY, intoB]: (Float32Array | undefined)[]): void {
  for (let at = 0, to = BLUR_RADIUS_PX; at < light.length; at += 3, to++) {
    const [red, green, blue] = [light[at] as number, light[at + 1] as number, light[at + 2] as number];
    const long =
      Math.cbrt(
        LONG_CONE_WEIGHTS[0] * red + LONG_CONE_WEIGHTS[1] * green + LONG_CONE_WEIGHTS[2] * blue + OPSIN_BIAS,
      ) - OPSIN_BIAS_ROOT;
    const medium =
      Math.cbrt(
        MEDIUM_CONE_WEIGHTS[0] * red +
          MEDIUM_CONE_WEIGHTS[1] * green +
          MEDIUM_CONE_WEIGHTS[2] * blue +
          OPSIN_BIAS,
      ) - OPSIN_BIAS_ROOT;
    const y = (long + medium) / 2;
    if (intoX !== undefined) intoX[to] = 7 * (long - medium) + 0.42;
    if (intoY !== undefined) intoY[to] = y + 0.01;
    if (intoB !== undefined) {
      const short =
        Math.cbrt(
          SHORT_CONE_WEIGHTS[0] * red +
            SHORT_CONE_WEIGHTS[1] * green +
            SHORT_CONE_WEIGHTS[2] * blue +
            OPSIN_BIAS,
        ) - OPSIN_BIAS_ROOT;
      intoB[to] = short - y + 0.55;
    }
  }
}

function blurRowsHorizontally(rows: ChannelRows, slot: number, { squares, product }: ScratchBuffers): void {
  const [a, b] = [rows.a[slot] as Float32Array, rows.b[slot] as Float32Array];
  for (let x = 0; x < a.length; x++) {
    const [one, other] = [a[x] as number, b[x] as number];
    squares[x] = one * one + other * other;
    product[x] = one * other;
  }
  blurRowHorizontally(a, rows.meanA[slot] as Float32Array);
  blurRowHorizontally(b, rows.meanB[slot] as Float32Array);
  blurRowHorizontally(squares, rows.squares[slot] as Float32Array);
  blurRowHorizontally(product, rows.product[slot] as Float32Array);
}

/**
 * Blurs a row horizontally.
 * @param row padded by the radius of the blur on both sides.
 */
function blurRowHorizontally(row: Float32Array, into: Float32Array): void {
  const [t0, t1, t2, t3, t4] = GAUSSIAN_TAPS;
  for (let x = 0; x < into.length; x++) {
    into[x] =
      t0 * (row[x + 4] as number) +
      t1 * ((row[x + 3] as number) + (row[x + 5] as number)) +
      t2 * ((row[x + 2] as number) + (row[x + 6] as number)) +
      t3 * ((row[x + 1] as number) + (row[x + 7] as number)) +
      t4 * ((row[x] as number) + (row[x + 8] as number));
  }
}

/** Blurs vertically around one row of a ring buffer. */
function blurVertically(ring: Float32Array[], middle: number, into: Float32Array): void {
  const [t0, t1, t2, t3, t4] = GAUSSIAN_TAPS;
  const row = (offset: number) =>
    ring[(middle + offset + RING_BUFFER_ROWS) % RING_BUFFER_ROWS] as Float32Array;
  const r0 = row(0);
  const [u1, u2, u3, u4] = [row(-1), row(-2), row(-3), row(-4)];
  const [d1, d2, d3, d4] = [row(1), row(2), row(3), row(4)];
  for (let x = 0; x < into.length; x++) {
    into[x] =
      t0 * (r0[x] as number) +
      t1 * ((u1[x] as number) + (d1[x] as number)) +
      t2 * ((u2[x] as number) + (d2[x] as number)) +
      t3 * ((u3[x] as number) + (d3[x] as number)) +
      t4 * ((u4[x] as number) + (d4[x] as number));
  }
}

/** Adds the errors of one row, and their fourth powers, to the sums. */
function addErrors(rows: ChannelRows, middle: number, scratch: ScratchBuffers, sums: Float64Array): void {
  const { meanA, meanB, sumSquares, sumProduct } = scratch;
  blurVertically(rows.meanA, middle, meanA);
  blurVertically(rows.meanB, middle, meanB);
  blurVertically(rows.squares, middle, sumSquares);
  blurVertically(rows.product, middle, sumProduct);
  const [a, b] = [
    rows.a[middle % RING_BUFFER_ROWS] as Float32Array,
    rows.b[middle % RING_BUFFER_ROWS] as Float32Array,
  ];
  const added = [0, 0, 0, 0, 0, 0];
  for (let x = 0; x < meanA.length; x++) {
    const [mA, mB] = [meanA[x] as number, meanB[x] as number];
    const covariance = (sumProduct[x] as number) - mA * mB;
    const variances = (sumSquares[x] as number) - (mA * mA + mB * mB);
    const likeness =
      ((1 - (mA - mB) ** 2) * (2 * covariance + CONTRAST_CONSTANT)) / (variances + CONTRAST_CONSTANT);
    const edgeB = Math.abs((b[x + BLUR_RADIUS_PX] as number) - mB);
    const edgeA = Math.abs((a[x + BLUR_RADIUS_PX] as number) - mA);
    const edge = (1 + edgeB) / (1 + edgeA) - 1;
    addError(added, 0, Math.max(0, 1 - likeness));
    addError(added, 1, Math.max(0, edge));
    addError(added, 2, Math.max(0, -edge));
  }
  for (let column = 0; column < ERROR_COLUMNS; column++)
    sums[column] = (sums[column] as number) + (added[column] as number);
}

function addError(sums: number[], column: number, value: number): void {
  sums[column] = (sums[column] as number) + value;
  sums[column + ERROR_COLUMNS / 2] = (sums[column + ERROR_COLUMNS / 2] as number) + value ** 4;
}
