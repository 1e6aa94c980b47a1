import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { envFile, saveSettings } from '../../../config/env-file.ts';
import { loadSettingsFile, readSettings, SETTINGS, type Settings } from '../../../config/index.ts';
import type { Difference } from '../../compare/interval.ts';
import { hostFacts } from '../../report/load-report.ts';
import { liveTunePage } from '../../report/tune-page.ts';
import { writeResult } from '../../results.ts';
import type { Stopping } from '../../stopping.ts';
import type { Minute } from './reading.ts';
import { differing, openRunningService } from './running-service.ts';
import { type LiveOutcome, LiveStopped, type LiveTrial, tuneLive } from './tune-live.ts';
import type { LiveSettings } from './values.ts';

const MINUTE_MS = 60_000;
const DEFAULT_PAIRS = 5;
const DEFAULT_MINUTES = 90;

export const LIVE_HELP = `npm run tune -- --live [--save] [--minutes 90] [--minutes-each 1] [--pairs 5] [--url http://127.0.0.1:3000] [--out DIR]

Tunes the running service under its own traffic: tries other values of PROCESSES, IMAGE_THREADS, RENDER_THREADS and
IMAGE_QUEUE by "set", each for a minute in turn with what is set. Goes back at once where p99 or refusals worsen, and in the end. The
environment is that of the service (DATA_DIR or its stores, METRICS_TOKEN). --save merges what is better into ENV_FILE.`;

/** `npm run tune -- --live`. @throws Error that names the fix where the service cannot be tuned. */
export async function tuneLiveCommand(stopping: Stopping): Promise<void> {
  const { values } = parseArgs({
    options: {
      live: { type: 'boolean', default: true },
      help: { type: 'boolean', short: 'h', default: false },
      save: { type: 'boolean', default: false },
      minutes: { type: 'string', default: String(DEFAULT_MINUTES) },
      'minutes-each': { type: 'string', default: '1' },
      pairs: { type: 'string', default: String(DEFAULT_PAIRS) },
      url: { type: 'string', default: '' },
      out: { type: 'string', default: '' },
    },
  });
  if (values.help) return console.log(LIVE_HELP);
  const minutes = positive('minutes', values.minutes);
  const eachMs = positive('minutes-each', values['minutes-each']) * MINUTE_MS;
  const pairs = positive('pairs', values.pairs);
  if (!Number.isInteger(pairs) || pairs < 2)
    throw new Error(`--pairs is "${values.pairs}", but a whole number from 2 on is expected.`);
  loadSettingsFile();
  const settings = readSettings(process.env);
  const { service, settings: initial } = await openRunningService(
    metricsUrlOf(values.url, settings),
    settings.http.METRICS_TOKEN,
  );
  console.log(`In force: ${named(initial)}. Each minute takes ${eachMs / 1000} s.`);
  const trialMs = pairs * 2 * eachMs * (1 + SETTING_SHARE);
  const startMs = performance.now();
  const outcome = await tuneLive({
    service,
    initial,
    defaults: defaults(),
    cores: availableParallelism(),
    eachMs,
    pairs,
    hasTime: () => performance.now() - startMs + trialMs < minutes * MINUTE_MS,
    sleep: (timeMs) =>
      sleep(timeMs, undefined, { signal: stopping.signal }).catch(() => {
        throw new LiveStopped('Stopped.');
      }),
    onMinute: (minute, tried) => console.log(minuteSentence(minute, tried)),
    onTrial: (trial) => console.log(`${trial.name}=${trial.to}: ${conclusionSentence(trial)}`),
  });
  await reportOutcome(outcome, { initial, isSaved: values.save, folder: values.out, eachMs });
}

/** Additional time of a minute, as a share of it: a process that is replaced finishes its calls first. */
const SETTING_SHARE = 0.1;

function defaults(): LiveSettings {
  return {
    PROCESSES: SETTINGS.processes.PROCESSES.fallback,
    IMAGE_THREADS: SETTINGS.pixels.IMAGE_THREADS.fallback,
    RENDER_THREADS: SETTINGS.renders.RENDER_THREADS.fallback,
    IMAGE_QUEUE: SETTINGS.pixels.IMAGE_QUEUE.fallback,
  };
}

function metricsUrlOf(url: string, { http }: Settings): string {
  if (url !== '') return `${url.replace(/\/$/, '')}/metrics`;
  const host = http.HOST === '0.0.0.0' || http.HOST === '::' ? '127.0.0.1' : http.HOST;
  return `http://${host.includes(':') ? `[${host}]` : host}:${http.METRICS_PORT || http.PORT}/metrics`;
}

async function reportOutcome(
  outcome: LiveOutcome,
  context: { initial: LiveSettings; isSaved: boolean; folder: string; eachMs: number },
): Promise<void> {
  const { initial, isSaved, folder, eachMs } = context;
  const { trials, recommended, skipped, ended } = outcome;
  const rows = trials.map(rowOf);
  const changes = differing(recommended, initial);
  const assignments = changes.map(([name, value]) => `${name}=${value}`);
  const advice =
    assignments.length === 0
      ? 'Keep what is set: nothing else was shown to be better.'
      : `Use ${assignments.join(' ')}: shown to be better under this traffic (95 % confidence in each trial).`;
  const method = [
    advice,
    ...skipped,
    ended === null ? '' : `${ended} What was not tried is not in the table.`,
    `In force again: ${named(initial)}.`,
  ]
    .filter((sentence) => sentence !== '')
    .join(' ');
  console.table(rows);
  console.log(method);
  const at = new Date().toISOString();
  const result = { suite: 'tune-live', at, host: hostFacts(), method, rows, initial, eachMs, ...outcome };
  await writeResult('tune-live', { result, html: liveTunePage(result), folder });
  if (assignments.length === 0) return;
  if (isSaved) {
    saveSettings(Object.fromEntries(changes.map(([name, value]) => [name, String(value)])), {
      keepsBefore: true,
    });
    console.log(`→ ${resolve(envFile())} (as it was before: ${envFile()}.before), for the next start`);
  }
  for (const assignment of assignments) console.log(`In force at once: npm run admin -- set ${assignment}`);
}

function rowOf(trial: LiveTrial): Record<string, string | number> {
  const { name, from, to, pairs } = trial;
  const pair = (read: (minute: Minute) => number | null) => {
    const mean = (minutes: Minute[]) => {
      const known = minutes.map(read).filter((value) => value !== null);
      return known.length === 0
        ? 'none'
        : (known.reduce((sum, one) => sum + one, 0) / known.length).toFixed(1);
    };
    return `${mean(pairs.map(({ base }) => base))} → ${mean(pairs.map(({ candidate }) => candidate))}`;
  };
  return {
    setting: `${name} ${from} → ${to}`,
    pairs: pairs.length,
    'right/s': pair(({ perSecond }) => perSecond),
    'refused %': pair(({ rightShare }) => (rightShare === null ? null : (1 - rightShare) * 100)),
    'p99 ms': pair(({ p99Ms }) => p99Ms),
    'CPU ms a call': pair(({ cpuMsPerCall }) => cpuMsPerCall),
    conclusion: conclusionSentence(trial),
  };
}

/** `better: p99 0.62 (0.5 to 0.77), CPU 1.01 (0.97 to 1.05)`. */
function conclusionSentence({ conclusion, gaveUp, goodput, p99, cpu }: LiveTrial): string {
  if (gaveUp !== null) return `worse, gone back at once: ${gaveUp}`;
  const figure = (name: string, difference: Difference | null) => {
    if (difference === null) return `${name} none`;
    const { ratio, low, high } = difference;
    return `${name} ${ratio.toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)})`;
  };
  const figures = [figure('goodput', goodput), figure('p99', p99), figure('CPU', cpu)].join(', ');
  return `${conclusion === 'open' ? 'no difference shown' : conclusion}: ${figures}`;
}

function minuteSentence({ perSecond, refused, p99Ms, cpuMsPerCall }: Minute, settings: LiveSettings): string {
  const figure = (value: number | null) => (value === null ? 'none' : value.toFixed(1));
  return `${named(settings)}: ${figure(perSecond)} right/s, ${refused} refused, p99 ${figure(p99Ms)} ms, CPU ${figure(cpuMsPerCall)} ms a call`;
}

function named(settings: LiveSettings): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (!(value > 0) || value === Number.POSITIVE_INFINITY)
    throw new Error(`--${name} is "${text}", but a number above 0 is expected.`);
  return value;
}
