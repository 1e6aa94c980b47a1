import { selectFrames, selectsFrames } from '../../../workers/image/frames.ts';
import {
  type DecodeOptions,
  type ImagePass,
  MAX_PIXELS,
  type OutputFormat,
} from '../../../workers/protocol.ts';
import { canLowerEffort, estimatedMs } from './estimates/costs.ts';
import { frameCountOf } from './estimates/prediction.ts';
import type { CallAlternatives, LateProgress } from './failures.ts';
import type { ImageHeader } from './header/facts.ts';
import type { ImageCall } from './image-call.ts';

/**
 * What a caller can do instead of a call: change its parameters, by their names in the call, or send jobs that do the
 * same work.
 */
interface ChangeableCall extends LateProgress {
  /** Maps a parameter of the pass to the field of the call. If absent, the call has no parameters to replace. */
  paramOf?: ((passParam: string) => string) | undefined;
  /** The prefix that the call gives to the parameters of a single op; see `BranchPass`. */
  parametersPrefix?: string | undefined;
  asJobs?: ImageCall['asJobs'];
}

/**
 * If the worker has measured nothing yet, an alternative is proposed only if its estimated time is at most this share
 * of the estimated time of the pass that missed its deadline.
 */
const MAX_UNMEASURED_TIME_SHARE = 1 / 4;
/** The time that an item of a job may take, as a multiple of the time of a call. */
const JOB_TO_CALL_TIME_RATIO = 6;
const QUICKEST_ENCODE = { effort: 0 };

/**
 * Alternatives to slow passes over a file: parameters that take less time, or a job, which may take longer. Each
 * alternative is complete, and the first keeps the most frames.
 */
export function alternativesToSlowPasses(
  header: ImageHeader,
  passes: readonly ImagePass[],
  { paramOf, parametersPrefix = '', asJobs, doableShare, wasStarved = false }: ChangeableCall,
): CallAlternatives {
  const calls: CallAlternatives['calls'] = [];
  const words: string[] = [];
  const suggest = (parameters: Record<string, unknown>) => {
    words.push(parametersText(parameters));
    const areOwn = Object.keys(parameters).every((name) => paramOf?.(name) === `${parametersPrefix}${name}`);
    if (areOwn) calls.push({ parameters });
  };
  const lower = passes.some((pass) => canLowerEffort(header, pass)) ? QUICKEST_ENCODE : undefined;
  const animated = passes.find((pass) => frameCountOf(header, pass) > 1);
  if (animated !== undefined) {
    const atLowestEffort = { ...animated, encode: { ...animated.encode, ...lower } };
    const limits =
      doableShare === undefined
        ? {
            mostMs: Math.min(
              MAX_SAFE_ESTIMATE_MS,
              MAX_UNMEASURED_TIME_SHARE * quickestEstimateMs(header, animated),
            ),
          }
        : { mostPx: doableShare * header.width * header.height * frameCountOf(header, animated) };
    if (
      lower !== undefined &&
      limits.mostMs !== undefined &&
      quickestEstimateMs(header, atLowestEffort) <= limits.mostMs
    )
      suggest(lower);
    for (const { parameters } of fewerFramesParameters(header, atLowestEffort, limits))
      suggest({ ...parameters, ...lower });
  } else {
    if (lower !== undefined) suggest(lower);
    words.push('an image that is smaller by a fifth or more');
  }
  if (asJobs !== undefined && (wasStarved || (doableShare ?? 1) * JOB_TO_CALL_TIME_RATIO > 1)) {
    const [job, ...others] = asJobs;
    const isOne = job !== undefined && others.length === 0;
    words.push(
      `a job${isOne ? '' : ' for each'}, which has three tries of 60 s each (POST /api/v1/jobs, with the id of the uploaded image in assetIds)`,
    );
    calls.push(isOne ? { job } : { jobs: asJobs });
  }
  return { calls, words: words.join(', or ') };
}

/** Parameters for the same call that keep fewer frames. */
interface FrameReduction {
  parameters: Pick<DecodeOptions, 'maxFps' | 'everyNth' | 'maxFrames' | 'frame'>;
}

const MAX_FPS = 60;
const MAX_EVERY_NTH = 100;
/** The longest estimate of a pass that is expected to be in time. Estimates are near the worst case. */
const MAX_SAFE_ESTIMATE_MS = 10_000;

/**
 * Parameters that make a pass keep so few frames that it stays within a number of pixels and is expected to be in time.
 * There are up to three alternatives: the highest frame rate, the smallest step between frames, and the first frame
 * alone. They are sorted by the number of kept frames, the most first. A rate or a step is left out if no value of it
 * is small enough.
 */
export function fewerFramesParameters(
  header: ImageHeader,
  pass: ImagePass,
  { mostPx = MAX_PIXELS, mostMs = MAX_SAFE_ESTIMATE_MS }: { mostPx?: number; mostMs?: number } = {},
): FrameReduction[] {
  const { decode } = pass;
  if (frameCountOf(header, pass) === 1) return [];
  const keptBy = (requested: DecodeOptions) => selectFrames({ ...decode, ...requested }, header).kept.length;
  const isSmallEnough = (requested: DecodeOptions) =>
    keptBy(requested) * header.width * header.height <= mostPx &&
    quickestEstimateMs(header, { ...pass, decode: { ...decode, ...requested } }) <= mostMs;
  const rates = header.delays === undefined ? [] : numbersUpTo(decode.maxFps ?? MAX_FPS).reverse();
  const steps = numbersUpTo(MAX_EVERY_NTH).filter((nth) => nth > (decode.everyNth ?? 1));
  const mildestFitting = <T extends DecodeOptions>(fromMildest: readonly T[]) => {
    const found = fromMildest.find(isSmallEnough);
    return found === undefined || keptBy(found) === 1 ? [] : [found];
  };
  const several = [
    ...mildestFitting(rates.map((maxFps) => ({ maxFps }))),
    ...mildestFitting(steps.map((everyNth) => ({ everyNth }))),
  ].toSorted((one, other) => keptBy(other) - keptBy(one));
  // The parameter `frame` cannot be combined with the other parameters that choose frames.
  const first = selectsFrames(decode) ? { maxFrames: 1 } : { frame: 'first' as const };
  return [...several, first].map((parameters) => ({ parameters }));
}

/**
 * The estimated time of a pass. A search without a chosen effort is estimated at the lowest effort, because it lowers
 * its effort by itself when time is short.
 */
function quickestEstimateMs(header: ImageHeader, pass: ImagePass): number {
  const { target, effort } = pass.encode;
  const isEased = target !== undefined && effort === undefined;
  return estimatedMs(header, [isEased ? { ...pass, encode: { ...pass.encode, ...QUICKEST_ENCODE } } : pass]);
}

/** The bytes per pixel of an animated photograph at a quality that still looks acceptable. */
const ACCEPTABLE_PHOTO_BYTES_PER_PIXEL: Readonly<Partial<Record<OutputFormat, number>>> = {
  webp: 0.1,
  gif: 0.4,
};
/**
 * A proposed size of a drawing is chosen so that its estimated file takes this share of the allowed bytes. The rest is
 * a margin for the error of the estimate.
 */
const SAFE_SIZE_SHARE = 0.9;

/**
 * The number of pixels, over all frames, with which the file probably has at most the bytes that the pass requests. The
 * larger of two estimates counts. A photograph takes a fixed number of bytes per pixel. The file of a drawing holds the
 * changes between its frames: with a quarter of the frames, it has about half of the bytes.
 */
export function likelyPixelsWithinTarget(
  header: ImageHeader,
  { encode }: ImagePass,
  fileBytes: number,
): number {
  const { target, format = header.format } = encode;
  if (target === undefined || !('maxBytes' in target)) return MAX_PIXELS;
  const ofPhoto = target.maxBytes / (ACCEPTABLE_PHOTO_BYTES_PER_PIXEL[format as OutputFormat] ?? 1);
  const ofDrawing = header.pixels * ((SAFE_SIZE_SHARE * target.maxBytes) / fileBytes) ** 2;
  return Math.min(MAX_PIXELS, Math.max(ofPhoto, ofDrawing));
}

/** Parameters as words, such as `maxFrames=1`. */
export function parametersText(parameters: Record<string, unknown>): string {
  return Object.entries(parameters)
    .map(([name, value]) => `${name}=${value}`)
    .join(' with ');
}

function numbersUpTo(last: number): number[] {
  return Array.from({ length: Math.floor(last) }, (_, index) => index + 1);
}
