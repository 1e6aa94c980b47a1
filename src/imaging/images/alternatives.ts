import { selectFrames } from '../../../workers/image/frames.ts';
import { type DecodeOptions, type ImagePass, MAX_PIXELS } from '../../../workers/protocol.ts';
import { canLowerEffort, estimatedMs } from './estimates/costs.ts';
import { frameCountOf } from './estimates/following.ts';
import type { CallAlternatives } from './failures.ts';
import type { ImageHeader } from './header/facts.ts';

/** The forms in which the call can be sent. */
interface CallForms {
  /** Maps a parameter of the pass to the field of the call. */
  paramOf?: ((passParam: string) => string) | undefined;
  /** The body of a job that does the same work; absent if there is none. */
  asJob?: Record<string, unknown> | undefined;
  /** The share of the pixels that could be done in time, if the worker measured it. */
  doableShare?: number | undefined;
}

/** The share of the frames that is proposed if the worker has measured nothing. */
const UNMEASURED_SHARE = 1 / 4;
/** The time that an item of a job may take, as a multiple of the time of a call. */
const JOB_TIME_RATIO = 6;

/**
 * Alternatives to slow passes over a file: parameters that take less time, or a job, which may take longer. Each
 * alternative is complete, and the first keeps the most frames.
 */
export function alternativesToSlowPasses(
  header: ImageHeader,
  passes: readonly ImagePass[],
  { paramOf = (passParam) => passParam, asJob, doableShare }: CallForms,
): CallAlternatives {
  const calls: CallAlternatives['calls'] = [];
  const words: string[] = [];
  const suggest = (parameters: Record<string, unknown>) => {
    words.push(parametersText(parameters));
    if (Object.keys(parameters).every((name) => paramOf(name) === name)) calls.push({ parameters });
  };
  const lower = passes.some((pass) => canLowerEffort(header, pass)) ? { effort: 0 } : undefined;
  const moving = passes.find((pass) => frameCountOf(header, pass) > 1);
  if (moving !== undefined) {
    const share = doableShare ?? UNMEASURED_SHARE;
    const most = share * header.width * header.height * frameCountOf(header, moving);
    for (const { parameters } of fewerFramesParameters(header, moving, most))
      suggest({ ...parameters, ...lower });
  } else {
    if (lower !== undefined) suggest(lower);
    words.push('an image that is smaller by a fifth or more');
  }
  if (asJob !== undefined && (doableShare ?? 1) * JOB_TIME_RATIO > 1) {
    words.push(
      'a job, which has three tries of 60 s each (POST /api/v1/jobs, with the id of the uploaded image in assetIds)',
    );
    calls.push({ job: asJob });
  }
  return { calls, words: words.join(', or ') };
}

/** Parameters that replace or complete those of a call. */
interface FrameReduction {
  parameters: Pick<DecodeOptions, 'maxFps' | 'everyNth' | 'frame'>;
}

const MAX_FPS = 60;
const MAX_EVERY_NTH = 100;
/** The longest estimate of a pass that is expected to be in time. Estimates are near the worst case. */
const MAX_SURE_ESTIMATE_MS = 10_000;

/**
 * Parameters with which a pass keeps few enough frames for a number of pixels, and is expected to be in time: the
 * highest rate, the smallest step between frames, and the first frame alone. Where no value is expected to be in time,
 * it is the one that keeps the fewest frames. A parameter that no value makes fit is left out.
 */
export function fewerFramesParameters(
  header: ImageHeader,
  pass: ImagePass,
  most = MAX_PIXELS,
): FrameReduction[] {
  const { decode } = pass;
  if (frameCountOf(header, pass) === 1) return [];
  const fits = (asked: DecodeOptions) =>
    selectFrames({ ...decode, ...asked }, header).kept.length * header.width * header.height <= most;
  const isQuick = (asked: DecodeOptions) =>
    estimatedMs(header, [{ ...pass, decode: { ...decode, ...asked } }]) <= MAX_SURE_ESTIMATE_MS;
  const first = <T extends DecodeOptions>(asked: T[]) => {
    const fitting = asked.filter(fits);
    return fitting.find(isQuick) ?? fitting.at(-1);
  };
  const rates = header.delays === undefined ? [] : numbersUpTo(decode.maxFps ?? MAX_FPS).reverse();
  const steps = numbersUpTo(MAX_EVERY_NTH).filter((nth) => nth > (decode.everyNth ?? 1));
  const isFree = Object.keys(decode).every((name) => name === 'frame' || name === 'density');
  return [
    first(rates.map((maxFps) => ({ maxFps }))),
    first(steps.map((everyNth) => ({ everyNth }))),
    isFree ? { frame: 'first' as const } : undefined,
  ].flatMap((parameters) => (parameters === undefined ? [] : { parameters }));
}

function parametersText(parameters: Record<string, unknown>): string {
  return Object.entries(parameters)
    .map(([name, value]) => `${name}=${value}`)
    .join(' with ');
}

/** The whole numbers from 1 to the last. */
function numbersUpTo(last: number): number[] {
  return Array.from({ length: Math.floor(last) }, (_, index) => index + 1);
}
