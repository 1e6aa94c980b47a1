import { type LiveEvidence, liveConclusion, liveEvidence, type MinutePair, worsening } from './judge.ts';
import { type Minute, minuteOf, type Reading } from './reading.ts';
import { LIVE_SETTINGS, type LiveSetting, type LiveSettings, valuesOf } from './values.ts';

/** The running service. */
export interface LiveService {
  /** Changes a setting on every host; resolves when it is in force. */
  set(name: LiveSetting, value: number): Promise<void>;
  read(): Promise<Reading>;
}

export interface LiveOptions {
  service: LiveService;
  /** The settings in force. They are in force again when this resolves or rejects. */
  initial: LiveSettings;
  defaults: LiveSettings;
  cores: number;
  /** Length of a minute, in ms. */
  eachMs: number;
  /** Pairs of minutes for each candidate. */
  pairs: number;
  /** Whether there is time for another candidate. */
  hasTime: () => boolean;
  /** Waits; rejects when the run is to end. */
  sleep: (timeMs: number) => Promise<void>;
  /** Called after each minute. */
  onMinute?: (minute: Minute, settings: LiveSettings) => void;
  onTrial?: (trial: LiveTrial) => void;
}

export interface LiveTrial extends LiveEvidence {
  name: LiveSetting;
  /** Value that was kept, and the one that was tried. */
  from: number;
  to: number;
  pairs: MinutePair[];
  conclusion: 'better' | 'worse' | 'open';
  /** Reason why it was given up within its minute; null where it was not. */
  gaveUp: string | null;
}

export interface LiveOutcome {
  trials: LiveTrial[];
  /** The settings that are shown to be better, with those that nothing was better than. */
  recommended: LiveSettings;
  /** Settings that were not tried, with the reason. */
  skipped: string[];
  /** Reason why it ended early; null: everything was tried. */
  ended: string | null;
}

/** Shares of a minute: until caches and new processes are warm, and between two looks at the figures. */
const SETTLING_SHARE = 0.1;
const LOOK_SHARE = 1 / 12;
const LONGEST_LOOK_MS = 5_000;
/** Calls of a minute below which its figures have no meaning. */
const FEWEST_CALLS = 10;
/** The share of fewer threads that the traffic may take: the rest is for its bursts. */
const BUSIEST_SHARE = 0.5;

/**
 * Tries other values of the settings on the running service, under its own traffic: the kept value and another one in
 * alternate minutes. A better value is kept for the further trials. A value under which p99 or refusals worsen is given
 * up within its minute. In the end, the initial settings are in force again.
 */
export async function tuneLive(options: LiveOptions): Promise<LiveOutcome> {
  const { initial, defaults, cores, hasTime, onTrial } = options;
  const host = createHost(options);
  const outcome: LiveOutcome = { trials: [], recommended: { ...initial }, skipped: [], ended: null };
  try {
    const first = await host.minute(initial, null);
    if (first.minute.right < FEWEST_CALLS)
      throw new Error(
        `The service answered ${first.minute.right} image calls in ${Math.round(first.minute.seconds)} s: too little traffic to compare settings by.`,
      );
    for (const name of LIVE_SETTINGS) {
      if (name === 'RENDER_THREADS' && first.minute.renders === 0) {
        outcome.skipped.push('RENDER_THREADS was not tried, because no call was a render.');
        continue;
      }
      const tried = new Set([outcome.recommended[name]]);
      for (;;) {
        const kept = outcome.recommended;
        const value = valuesOf(name, { kept, defaults, cores }).find((one) => !tried.has(one));
        if (value === undefined) break;
        tried.add(value);
        if (!carries({ ...kept, [name]: value }, first.minute, cores)) {
          outcome.skipped.push(`${name}=${value} was not tried, because the calls need more threads.`);
          continue;
        }
        if (!hasTime()) return { ...outcome, ended: 'The time was over.' };
        const trial = await runTrial({ name, value, kept }, host, options.pairs);
        outcome.trials.push(trial);
        onTrial?.(trial);
        if (trial.conclusion === 'better') outcome.recommended = { ...kept, [name]: value };
      }
    }
    return outcome;
  } catch (error) {
    if (outcome.trials.length === 0 && !isStop(error)) throw error;
    return { ...outcome, ended: (error as Error).message };
  } finally {
    await host.putInForce(initial);
  }
}

/**
 * Whether image threads under these settings carry the traffic, so that no call is refused while they are tried. As
 * many threads as cores always do.
 */
function carries(
  { PROCESSES, IMAGE_THREADS }: LiveSettings,
  { perSecond, cpuMsPerCall }: Minute,
  cores: number,
): boolean {
  const threads = PROCESSES * IMAGE_THREADS;
  const busyCores = (perSecond * (cpuMsPerCall ?? 0)) / 1000;
  return threads >= cores || busyCores <= threads * BUSIEST_SHARE;
}

/** The run is to end: it reports what was measured. */
export class LiveStopped extends Error {}

const isStop = (error: unknown) => error instanceof LiveStopped;

async function runTrial(
  { name, value, kept }: { name: LiveSetting; value: number; kept: LiveSettings },
  host: LiveHost,
  pairCount: number,
): Promise<LiveTrial> {
  const pairs: MinutePair[] = [];
  const keptMinutes: Minute[] = [];
  let gaveUp: string | null = null;
  while (pairs.length < pairCount && gaveUp === null) {
    const { minute: base } = await host.minute(kept, null);
    keptMinutes.push(base);
    const { minute: candidate, reason } = await host.minute({ ...kept, [name]: value }, keptMinutes);
    pairs.push({ base, candidate });
    gaveUp = reason;
  }
  await host.putInForce(kept);
  const conclusion = gaveUp === null ? liveConclusion(pairs) : 'worse';
  return { name, from: kept[name], to: value, pairs, ...liveEvidence(pairs), conclusion, gaveUp };
}

interface LiveHost {
  putInForce(settings: LiveSettings): Promise<void>;
  /**
   * One minute under these settings.
   * @param kept minutes that show what is usual: a worse one ends early, with the reason. Null: nothing ends it.
   */
  minute(
    settings: LiveSettings,
    kept: readonly Minute[] | null,
  ): Promise<{ minute: Minute; reason: string | null }>;
}

function createHost({ service, initial, eachMs, sleep, onMinute }: LiveOptions): LiveHost {
  /** Undefined while it is not known, as after a change that failed. */
  const inForce: Partial<LiveSettings> = { ...initial };
  const lookMs = Math.min(LONGEST_LOOK_MS, eachMs * LOOK_SHARE);

  async function putInForce(settings: LiveSettings): Promise<void> {
    for (const name of LIVE_SETTINGS) {
      if (inForce[name] === settings[name]) continue;
      delete inForce[name];
      await service.set(name, settings[name]);
      inForce[name] = settings[name];
    }
  }

  return {
    putInForce,
    async minute(settings, kept) {
      await putInForce(settings);
      const changed = await service.read();
      await sleep(eachMs * SETTLING_SHARE);
      const begun = await service.read();
      for (;;) {
        await sleep(lookMs);
        const now = await service.read();
        // Calls that failed while it settled count against it as well.
        const reason = kept === null ? null : worsening(minuteOf(changed, now), kept);
        if (reason === null && now.atMs - changed.atMs < eachMs) continue;
        const minute = minuteOf(reason === null ? begun : changed, now);
        onMinute?.(minute, settings);
        return { minute, reason };
      }
    },
  };
}
