import type { CapacitySetting } from '../../../src/platform/capacity/capacity.ts';

/** The settings that are tried while the service runs. */
export const LIVE_SETTINGS = [
  'PROCESSES',
  'IMAGE_THREADS',
  'RENDER_THREADS',
  'IMAGE_QUEUE',
] as const satisfies readonly CapacitySetting[];
export type LiveSetting = (typeof LIVE_SETTINGS)[number];

/** Their values in force. */
export type LiveSettings = Record<LiveSetting, number>;

/** Threads of all processes together beyond this multiple of the cores only wait for each other. */
const MOST_PER_CORE = 2;

/**
 * The values of a setting that are worth some minutes: the default, then twice and half of what is kept.
 * @param kept the settings against which they are tried.
 */
export function valuesOf(
  name: LiveSetting,
  { kept, defaults, cores }: { kept: LiveSettings; defaults: LiveSettings; cores: number },
): number[] {
  const values = [defaults[name], kept[name] * 2, Math.floor(kept[name] / 2)];
  // A queue takes no part of the host: whatever is not the default is compared with the default alone.
  if (name === 'IMAGE_QUEUE') return values.slice(0, 1).filter((value) => value !== kept[name]);
  const fits = (value: number) => {
    const { PROCESSES, IMAGE_THREADS, RENDER_THREADS }: LiveSettings = { ...kept, [name]: value };
    return PROCESSES * Math.max(IMAGE_THREADS, RENDER_THREADS) <= MOST_PER_CORE * cores;
  };
  return [...new Set(values)].filter((value) => value >= 1 && value !== kept[name] && fits(value));
}
