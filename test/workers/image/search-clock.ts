import sharp from 'sharp';
import type { Pixels } from '../../../workers/image/pixels/pixels.ts';
import { DeadlineError } from '../../../workers/image/refusal.ts';
import type { TargetSearch } from '../../../workers/image/search/target.ts';
import { WorkClock } from '../../../workers/image/search/time.ts';
import type { OutputFormat } from '../../../workers/protocol.ts';

export const DEADLINE_MS = 10_000;

/** A clock on a host that gives this process the share `pace` of a core. */
export function clockAt(nowMs: () => number, pace = 1): WorkClock {
  return new WorkClock({ nowMs, cpuMs: () => pace * nowMs() });
}

/** A search over a small picture whose trials each take so long. */
export function searchOf(
  maxBytes: number,
  trialMs: (trial: number) => number,
  format: OutputFormat = 'jpeg',
): TargetSearch {
  const side = 64;
  const data = Uint8Array.from({ length: side * side * 3 }, (_, at) => (at * 7919 + ((at * at) >> 5)) & 255);
  const pixels: Pixels = { data, width: side, height: side, channels: 3, frames: 1 };
  let now = 0;
  let trials = 0;
  const opened = () => sharp(data, { raw: { width: side, height: side, channels: 3 } });
  return {
    pixels,
    encode: { format, target: { maxBytes } },
    motion: {},
    original: undefined,
    deadlineMs: DEADLINE_MS,
    clock: clockAt(() => now),
    async prepare(_pixels, timeoutMs) {
      trials += 1;
      const tookMs = trialMs(trials);
      now += Math.min(tookMs, timeoutMs);
      if (tookMs > timeoutMs) throw new DeadlineError();
      return opened();
    },
    prepareSample: opened,
    finish: async (written) => written,
  };
}
