import { execFile, execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { atExit } from '../../stopping.ts';
import { type Reading, readingOf } from './reading.ts';
import type { LiveService } from './tune-live.ts';
import { LIVE_SETTINGS, type LiveSetting, type LiveSettings } from './values.ts';

const ADMIN = join(import.meta.dirname, '../../../src/host/admin.ts');
const SCRAPE_TIMEOUT_MS = 10_000;
/** A busy service may miss one request for its metrics. */
const SCRAPES = 3;

interface Pools {
  processes: Array<{ settings: LiveSettings }>;
}

export interface RunningService {
  /** The settings in force on every host. */
  settings: LiveSettings;
  service: LiveService;
}

/**
 * The service that runs on the stores of the environment, through the operator's own commands.
 * @param metricsUrl address of its metrics.
 * @throws Error that names the fix where none runs, its hosts differ, or its metrics cannot be read.
 */
export async function openRunningService(metricsUrl: string, token: string): Promise<RunningService> {
  const pools = (await admin('pools')) as Pools;
  const settings = settingsOf(pools);
  const changed = new Map<LiveSetting, number>();
  const restoreAll = () => {
    for (const [name, value] of changed) if (value !== settings[name]) restoreNow(name, settings[name]);
  };
  // Reached by a second signal alone: the first one ends the run, which puts back what was in force.
  atExit(restoreAll);
  const service: LiveService = {
    async set(name, value) {
      changed.set(name, value);
      await admin('set', `${name}=${value}`);
    },
    read: () => scraped(metricsUrl, token, SCRAPES),
  };
  return { settings, service };
}

/** @throws Error that names the fix when the last try fails as well. */
async function scraped(metricsUrl: string, token: string, tries: number): Promise<Reading> {
  const headers: Record<string, string> = token === '' ? {} : { authorization: `Bearer ${token}` };
  try {
    const answer = await fetch(metricsUrl, { headers, signal: AbortSignal.timeout(SCRAPE_TIMEOUT_MS) });
    if (!answer.ok) throw new Error(`it answered ${answer.status}`);
    return readingOf(await answer.text(), performance.now());
  } catch (error) {
    if (tries > 1) return scraped(metricsUrl, token, tries - 1);
    const reason = (error as Error).message;
    throw new Error(
      `${metricsUrl} cannot be read (${reason}): name the service by --url, and its METRICS_TOKEN in the environment.`,
      { cause: error },
    );
  }
}

/** Runs a command of the operator. A signal of the terminal does not reach it. */
async function admin(...args: string[]): Promise<unknown> {
  const child = promisify(execFile)(process.execPath, [ADMIN, ...args, '--json'], {
    detached: true,
  } as object);
  try {
    return JSON.parse((await child).stdout);
  } catch (error) {
    const { stderr = '', message } = error as { stderr?: string; message: string };
    throw new Error(sentenceIn(stderr) ?? message, { cause: error });
  }
}

function restoreNow(name: LiveSetting, value: number): void {
  try {
    execFileSync(process.execPath, [ADMIN, 'set', `${name}=${value}`], { stdio: 'ignore' });
  } catch {
    console.error(`${name} could not be set back: npm run admin -- set ${name}=${value}`);
  }
}

/** The sentence of an error that the command printed as JSON. */
function sentenceIn(text: string): string | null {
  try {
    return (JSON.parse(text) as { error: { message: string } }).error.message;
  } catch {
    return null;
  }
}

/** @throws Error where hosts or processes differ. */
function settingsOf({ processes }: Pools): LiveSettings {
  const one = (name: LiveSetting): number => {
    const [value = 1, ...others] = new Set(processes.map(({ settings }) => settings[name]));
    if (others.length > 0)
      throw new Error(
        `${name} differs between the processes of the service (${[value, ...others].join(', ')}): make it alike first, npm run admin -- set ${name}=${value}.`,
      );
    return value;
  };
  const entries = LIVE_SETTINGS.map((name) => [name, one(name)] as const);
  return Object.fromEntries(entries) as LiveSettings;
}

/** `IMAGE_THREADS=2 PROCESSES=1`, of those that differ from others. */
export function differing(settings: LiveSettings, from: LiveSettings): Array<[LiveSetting, number]> {
  return LIVE_SETTINGS.filter((name) => settings[name] !== from[name]).map((name) => [name, settings[name]]);
}
