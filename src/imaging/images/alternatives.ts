import { selectFrames } from '../../../workers/image/frames.ts';
import { type DecodeOptions, type ImagePass, MAX_PIXELS } from '../../../workers/protocol.ts';
import { frameCountOf, resolvedEncodeOf } from './estimates/following.ts';
import type { CallAlternatives } from './failures.ts';
import type { ImageHeader } from './header/facts.ts';

/** What is known of the call. */
interface CallForms {
  /** Maps a parameter of the pass to the field of the call. */
  paramOf?: ((passParam: string) => string) | undefined;
  /** The body of a job that does the same work; absent if there is none. */
  asJob?: Record<string, unknown> | undefined;
}

/** Alternatives to passes over such a file that take less time, or that may take longer. */
export function alternativesToSlowPasses(
  header: ImageHeader,
  passes: readonly ImagePass[],
  { paramOf = (passParam) => passParam, asJob }: CallForms,
): CallAlternatives {
  const calls: CallAlternatives['calls'] = [];
  const words: string[] = [];
  const suggest = (name: string, value: unknown, text: string) => {
    words.push(text);
    if (paramOf(name) === name) calls.push({ parameters: { [name]: value } });
  };
  if (passes.some((pass) => (resolvedEncodeOf(header, pass).effort ?? 1) > 0))
    suggest('effort', 0, 'effort=0');
  const moving = passes.find((pass) => frameCountOf(header, pass) > 1);
  if (moving !== undefined) {
    const halfOfThem = (header.width * header.height * frameCountOf(header, moving)) / 2;
    for (const { parameters } of fewerFramesParameters(header, moving, halfOfThem))
      for (const [name, value] of Object.entries(parameters)) suggest(name, value, `${name}=${value}`);
  } else words.push('an image that is smaller by a fifth or more');
  if (asJob !== undefined) {
    words.push(
      'a job, which has three tries of 60 s each (POST /api/v1/jobs, with the id of the uploaded image in assetIds)',
    );
    calls.push({ job: asJob });
  }
  return { calls, words: words.join(', or ') };
}

/** Parameters that replace or complete those of a call. */
interface FewerFrames {
  parameters: Pick<DecodeOptions, 'maxFps' | 'everyNth' | 'frame'>;
}

const MAX_FPS = 60;
const MAX_NTH = 100;

/**
 * Parameters with which a pass keeps few enough frames for the pixel limit: the highest rate, the smallest step between
 * frames, and the first frame alone. A parameter that no value makes fit is left out.
 */
export function fewerFramesParameters(
  header: ImageHeader,
  pass: ImagePass,
  most = MAX_PIXELS,
): FewerFrames[] {
  const { decode } = pass;
  const fits = (asked: DecodeOptions) =>
    selectFrames({ ...decode, ...asked }, header).kept.length * header.width * header.height <= most;
  if (frameCountOf(header, pass) === 1) return [];
  const rates = header.delays === undefined ? [] : upTo(decode.maxFps ?? MAX_FPS).reverse();
  const maxFps = rates.find((rate) => fits({ maxFps: rate }));
  const everyNth = upTo(MAX_NTH).find((nth) => nth > (decode.everyNth ?? 1) && fits({ everyNth: nth }));
  const isFree = Object.keys(decode).every((name) => name === 'frame' || name === 'density');
  return [
    ...(maxFps === undefined ? [] : [{ parameters: { maxFps } }]),
    ...(everyNth === undefined ? [] : [{ parameters: { everyNth } }]),
    ...(isFree ? [{ parameters: { frame: 'first' as const } }] : []),
  ];
}

/** 1, 2, …, and the whole part of the last. */
function upTo(last: number): number[] {
  return Array.from({ length: Math.floor(last) }, (_, index) => index + 1);
}
