// The usual entry point of the package is 151 files, which every process and thread would load. This one is one file.
import culori from 'culori/require';
import type { PaletteColour } from '../../protocol.ts';
import type { PixelSample } from '../pixels/pixels.ts';

/**
 * The number of leading bits of a channel that form a bin. Within one of the 32 × 32 × 32 bins, the eye can hardly
 * distinguish colours.
 */
const COLOUR_BIN_BITS = 5;
const COLOUR_BIN_SHIFT = 8 - COLOUR_BIN_BITS;
/** The smallest distance in OKLab of two colours of a palette. Nearer colours become one colour. */
const MIN_COLOUR_DISTANCE = 0.04;
/**
 * The smallest share of a colour of a palette. A colour with a smaller share is mostly a blend along an edge, and
 * counts for its nearest neighbour.
 */
const MIN_COLOUR_SHARE = 0.005;
/** The number of initial clusters for each colour of the palette. */
const INITIAL_CLUSTERS_PER_COLOUR = 3;
/** The rounds of k-means. Further rounds move the colours by less than one step of a channel. */
const KMEANS_ROUNDS = 12;
/** Shares are rounded to a millionth, about one pixel of the largest sample. */
const SHARE_PRECISION = 1_000_000;

const toOklab = culori.converter('oklab');

/** A colour in OKLab, in which distances are about as large as they look. */
interface OklabPoint {
  l: number;
  a: number;
  b: number;
}

/** The pixels of one bin: the sum of their weights, and their mean colour. */
interface ColourBin extends OklabPoint {
  weight: number;
  red: number;
  green: number;
  blue: number;
}

/** A group of bins around their mean point. */
interface ColourCluster extends OklabPoint {
  bins: ColourBin[];
  weight: number;
}

/** A colour as 0xrrggbb, and the weight of its pixels. */
type WeighedColour = readonly [colour: number, weight: number];

/**
 * The main colours of a picture with their shares, the largest share first. There are fewer than `count` if fewer
 * colours can be told apart, and none if no pixel is visible. Pixels are weighted by their alpha. A picture of at most
 * `count` colours gets exactly its own colours. Other pictures are clustered by k-means in OKLab. It begins with heavy
 * colours that are far from each other and uses no random numbers, so the same pixels always get the same palette.
 * @see https://bottosson.github.io/posts/oklab/
 */
export function paletteOf(picture: PixelSample, count: number): PaletteColour[] {
  return withShares(
    findFewColours(picture, count) ?? clustersOf(colourBinsOf(picture), count).map(weighColour),
  );
}

/** The colours of a picture; undefined if it has more than `count`. */
function findFewColours({ data, channels }: PixelSample, count: number): WeighedColour[] | undefined {
  const weights = new Map<number, number>();
  for (let at = 0; at < data.length; at += channels) {
    const weight = channels === 4 ? (data[at + 3] as number) : 1;
    if (weight === 0) continue;
    const colour = packRgb(data[at] as number, data[at + 1] as number, data[at + 2] as number);
    weights.set(colour, (weights.get(colour) ?? 0) + weight);
    if (weights.size > count) return undefined;
  }
  return [...weights];
}

function packRgb(red: number, green: number, blue: number): number {
  return (red << 16) | (green << 8) | blue;
}

/** The bins of a picture that have visible pixels. */
function colourBinsOf({ data, channels }: PixelSample): ColourBin[] {
  const binCount = 1 << (3 * COLOUR_BIN_BITS);
  const [weights, reds, greens, blues] = [0, 1, 2, 3].map(() => new Float64Array(binCount)) as BinSums;
  for (let at = 0; at < data.length; at += channels) {
    const weight = channels === 4 ? (data[at + 3] as number) : 1;
    const red = data[at] as number;
    const green = data[at + 1] as number;
    const blue = data[at + 2] as number;
    const bin =
      ((red >> COLOUR_BIN_SHIFT) << (2 * COLOUR_BIN_BITS)) |
      ((green >> COLOUR_BIN_SHIFT) << COLOUR_BIN_BITS) |
      (blue >> COLOUR_BIN_SHIFT);
    weights[bin] = (weights[bin] as number) + weight;
    reds[bin] = (reds[bin] as number) + weight * red;
    greens[bin] = (greens[bin] as number) + weight * green;
    blues[bin] = (blues[bin] as number) + weight * blue;
  }
  const bins: ColourBin[] = [];
  for (let bin = 0; bin < binCount; bin++) {
    const weight = weights[bin] as number;
    if (weight === 0) continue;
    const mean = (sums: Float64Array) => (sums[bin] as number) / weight;
    const [red, green, blue] = [mean(reds), mean(greens), mean(blues)];
    const { l, a, b } = toOklab({ mode: 'rgb', r: red / 255, g: green / 255, b: blue / 255 });
    bins.push({ weight, red, green, blue, l, a, b });
  }
  return bins;
}

type BinSums = [weights: Float64Array, reds: Float64Array, greens: Float64Array, blues: Float64Array];

/**
 * Divides bins into at most `count` clusters with clearly different colours. Three times as many clusters are made
 * first, and are then joined pair by pair. A cluster that is large from the beginning would mix a bright colour with a
 * dark one.
 */
function clustersOf(bins: readonly ColourBin[], count: number): ColourCluster[] {
  let clusters = groupByNearest(bins, seedsOf(bins, INITIAL_CLUSTERS_PER_COLOUR * count));
  for (let round = 0; round < KMEANS_ROUNDS; round++) clusters = groupByNearest(bins, clusters);
  for (let weak = findWeakestCluster(clusters); weak !== undefined; weak = findWeakestCluster(clusters)) {
    const others = clusters.filter((cluster) => cluster !== weak);
    clusters = groupByNearest(bins, others);
  }
  while (clusters.length > count) clusters = joinMostSimilarClusters(clusters);
  return clusters;
}

/**
 * Joins the two clusters whose joining changes the colours least. The square root of the weight counts, so that a large
 * area does not absorb a small bright accent.
 */
function joinMostSimilarClusters(clusters: readonly ColourCluster[]): ColourCluster[] {
  let smallestChange = Number.POSITIVE_INFINITY;
  let pair: ColourCluster[] = [];
  for (const [index, one] of clusters.entries()) {
    for (const other of clusters.slice(index + 1)) {
      const weight = (one.weight * other.weight) / (one.weight + other.weight);
      const change = Math.sqrt(weight) * squaredDistance(one, other);
      if (change >= smallestChange) continue;
      smallestChange = change;
      pair = [one, other];
    }
  }
  const rest = clusters.filter((cluster) => !pair.includes(cluster));
  return [...rest, clusterOf(pair.flatMap(({ bins }) => bins))];
}

/**
 * The first cluster centres: the heaviest bin, and then repeatedly the bin with the largest product of weight and
 * distance from the centres before. The square root of the weight counts, so that a small bright accent is found next
 * to large areas.
 */
function seedsOf(bins: readonly ColourBin[], count: number): OklabPoint[] {
  const seeds: ColourBin[] = [];
  const squaredDistances = Float64Array.from(bins, () => 1);
  while (seeds.length < count) {
    let next: ColourBin | undefined;
    let highestScore = 0;
    for (let index = 0; index < bins.length; index++) {
      const bin = bins[index] as ColourBin;
      const gap = squaredDistances[index] as number;
      const score = Math.sqrt(bin.weight) * gap;
      if (gap < MIN_COLOUR_DISTANCE ** 2 || score <= highestScore) continue;
      next = bin;
      highestScore = score;
    }
    if (next === undefined) break;
    seeds.push(next);
    for (let index = 0; index < bins.length; index++)
      squaredDistances[index] = Math.min(
        squaredDistances[index] as number,
        squaredDistance(bins[index] as ColourBin, next),
      );
  }
  return seeds;
}

/** Groups the bins by their nearest centre. A centre without bins has no cluster. */
function groupByNearest(bins: readonly ColourBin[], centres: readonly OklabPoint[]): ColourCluster[] {
  const groups = centres.map((): ColourBin[] => []);
  for (const bin of bins) {
    let nearest = 0;
    let smallestDistance = Number.POSITIVE_INFINITY;
    for (let index = 0; index < centres.length; index++) {
      const distance = squaredDistance(bin, centres[index] as OklabPoint);
      if (distance >= smallestDistance) continue;
      nearest = index;
      smallestDistance = distance;
    }
    groups[nearest]?.push(bin);
  }
  return groups.filter((group) => group.length > 0).map(clusterOf);
}

function clusterOf(bins: ColourBin[]): ColourCluster {
  const weight = bins.reduce((sum, bin) => sum + bin.weight, 0);
  const mean = (axis: keyof OklabPoint) => meanOf(bins, weight, axis);
  return { bins, weight, l: mean('l'), a: mean('a'), b: mean('b') };
}

function meanOf(bins: readonly ColourBin[], weight: number, field: keyof ColourBin): number {
  return bins.reduce((sum, bin) => sum + bin.weight * bin[field], 0) / weight;
}

function squaredDistance(one: OklabPoint, other: OklabPoint): number {
  return (one.l - other.l) ** 2 + (one.a - other.a) ** 2 + (one.b - other.b) ** 2;
}

/** The lightest cluster that is too light, or too near to a heavier cluster, to be a separate colour. */
function findWeakestCluster(clusters: readonly ColourCluster[]): ColourCluster | undefined {
  const heaviestFirst = clusters.toSorted((one, other) => other.weight - one.weight);
  const total = clusters.reduce((sum, { weight }) => sum + weight, 0);
  return heaviestFirst.findLast((cluster, index) => {
    if (index === 0) return false;
    const isNear = (other: ColourCluster) => squaredDistance(other, cluster) < MIN_COLOUR_DISTANCE ** 2;
    return cluster.weight < MIN_COLOUR_SHARE * total || heaviestFirst.slice(0, index).some(isNear);
  });
}

/**
 * The colour of a cluster: that of its heaviest bin if the bin is most of the cluster, otherwise the mean. A flat
 * colour is thereby not mixed with the blends along its edges.
 */
function weighColour({ bins, weight }: ColourCluster): WeighedColour {
  const heaviest = bins.reduce((most, bin) => (bin.weight > most.weight ? bin : most));
  const isFlat = heaviest.weight > weight / 2;
  const channel = (name: 'red' | 'green' | 'blue') =>
    Math.round(isFlat ? heaviest[name] : meanOf(bins, weight, name));
  return [packRgb(channel('red'), channel('green'), channel('blue')), weight];
}

/**
 * Colours with their rounded shares, the largest first. The largest share absorbs the rounding error, so that the sum
 * is 1.
 */
function withShares(colours: readonly WeighedColour[]): PaletteColour[] {
  const total = colours.reduce((sum, [, weight]) => sum + weight, 0);
  const sorted = colours.toSorted(
    ([colour, weight], [other, otherWeight]) => otherWeight - weight || colour - other,
  );
  const parts = sorted.map(([, weight]) => Math.max(1, Math.round((SHARE_PRECISION * weight) / total)));
  const rest = parts.slice(1).reduce((left, part) => left - part, SHARE_PRECISION);
  return sorted.map(([colour], index) => ({
    color: `#${colour.toString(16).padStart(6, '0')}`,
    share: (index === 0 ? rest : (parts[index] as number)) / SHARE_PRECISION,
  }));
}
