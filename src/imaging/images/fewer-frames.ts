import { selectFrames } from '../../../workers/image/frames.ts';
import { type Decode, MAX_PIXELS, type Pass } from '../../../workers/protocol.ts';
import { framesOf } from './estimates/following.ts';
import type { Header } from './header/header.ts';

/** Parameters of a call, in addition to its own or in place of them. */
export interface FewerFrames {
  parameters: Pick<Decode, 'maxFps' | 'everyNth' | 'frame'>;
}

const MAX_FPS = 60;
const MAX_NTH = 100;

/**
 * The parameters by which a pass keeps so few frames that their pixels are below the limit: the highest rate, the
 * least number of frames of which one is read, and the first frame alone. Those that no value makes fit are left out.
 */
export function fewerFrames(header: Header, pass: Pass, most = MAX_PIXELS): FewerFrames[] {
  const { decode } = pass;
  const fits = (asked: Decode) =>
    selectFrames({ ...decode, ...asked }, header).kept.length * header.width * header.height <= most;
  if (framesOf(header, pass) === 1) return [];
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
