import { setTimeout as sleep } from 'node:timers/promises';
import { processesBelow } from './cpu.ts';
import { openLoader } from './load/run.ts';
import type { Second } from './load/tally.ts';
import type { LoadTarget } from './load/target.ts';
import { openAccount, startBenchServer } from './server.ts';
import { mean, round, type SuiteResult, type SuiteRow } from './suite.ts';
import overload from './suites/overload.ts';

/** How often a process is killed. */
const KILLS = Number(process.env.BENCH_KILLS ?? 3);
const WARM_UP_SECONDS = 5;
const CAPACITY_SECONDS = 8;
const OVERLOAD_FACTOR = 3;
/** The seconds that are measured before the kill, right after it, and when the replacement has warmed up. */
const BEFORE_SECONDS = 8;
const AFTER_SECONDS = 8;
const STAGE_SECONDS = BEFORE_SECONDS + 3 * AFTER_SECONDS;
/** Limit for the time from the kill until the replacement listens. */
const MAX_LISTENS_SECONDS = 5;

/** A line of the log that says that an API process listens. */
interface ListenTimes {
  processId: number;
  /** CPU time of the process until then. */
  cpuMs: number;
  atMs: number;
}

/** Kills one of two API processes amid an overload of bodies of 3 to 8 MB, again and again. */
export async function run(): Promise<SuiteResult> {
  const listening: ListenTimes[] = [];
  const settings = { LOG_LEVEL: 'info', PROCESSES: '2' };
  await using server = await startBenchServer(settings, undefined, (line) => {
    if (!line.includes('An API process listens')) return;
    listening.push({ ...(JSON.parse(line) as Omit<ListenTimes, 'atMs'>), atMs: performance.now() });
  });
  const others = Array.from({ length: (overload.accounts ?? 1) - 1 }, (_, index) =>
    openAccount(server, { email: `load-${index + 2}@example.com`, plan: 'scale', credits: 1_000_000 }),
  );
  const { url, key, pid } = server;
  const target: LoadTarget = {
    name: '',
    url,
    keys: [key, ...others],
    pid,
    [Symbol.asyncDispose]: async () => undefined,
  };
  const suiteFile = new URL('./suites/overload.ts', import.meta.url).pathname;
  using loader = await openLoader({ suiteFile, picturesFolder: '', target });
  const closed = (seconds: number) =>
    loader.run({ name: 'capacity', seconds, loop: 'closed', connections: { camera: 8 } }, { rates: {} });
  await closed(WARM_UP_SECONDS);
  const capacity = (await closed(CAPACITY_SECONDS)).cases.camera?.perSecond ?? 1;
  const rates = { camera: OVERLOAD_FACTOR * capacity };
  const rows: SuiteRow[] = [];
  for (let kill = 0; kill < KILLS; kill += 1) {
    const known = listening.length;
    const stage = { name: 'overload', seconds: STAGE_SECONDS, loop: 'open', perSecond: rates } as const;
    const loaded = loader.run(stage, { rates });
    await sleep(BEFORE_SECONDS * 1_000);
    const killedMs = performance.now();
    process.kill(findApiProcess(pid), 'SIGKILL');
    const { timeline } = await loaded;
    rows.push(rowOf(listening[known], killedMs, timeline.camera ?? []));
    console.log(rows.at(-1));
  }
  console.table(rows);
  const method = `One of two API processes is killed ${KILLS} times, ${BEFORE_SECONDS} s after the start of an open loop of bodies of 3 to 8 MB at ${OVERLOAD_FACTOR} times the capacity (${round(capacity, 1)} right answers a second with eight connections). The replacement is to listen within ${MAX_LISTENS_SECONDS} s; its CPU time until then, and right answers a second before the kill, in the ${AFTER_SECONDS} s after it, and in the last ${AFTER_SECONDS} s.`;
  return { method, rows, missed: missesOf(rows) };
}

function rowOf(listens: ListenTimes | undefined, killedMs: number, seconds: readonly Second[]): SuiteRow {
  const right = (from: number) =>
    round(mean(seconds.slice(from, from + AFTER_SECONDS).map((second) => second.right)), 1);
  return {
    'listens after s':
      listens === undefined ? Number.POSITIVE_INFINITY : round((listens.atMs - killedMs) / 1_000, 1),
    'CPU ms until then': listens?.cpuMs ?? 0,
    'right/s before': round(mean(seconds.slice(1, BEFORE_SECONDS).map((second) => second.right)), 1),
    'after it': right(BEFORE_SECONDS),
    'in the end': right(STAGE_SECONDS - AFTER_SECONDS),
  };
}

function missesOf(rows: readonly SuiteRow[]): string[] {
  return rows.flatMap(({ 'listens after s': seconds }) =>
    Number(seconds) <= MAX_LISTENS_SECONDS
      ? []
      : [`A replacement listened after ${seconds} s (aim: ${MAX_LISTENS_SECONDS} s).`],
  );
}

/** The oldest API process below a primary. */
function findApiProcess(primary: number): number {
  const [, first] = processesBelow(primary);
  if (first === undefined) throw new Error('The service has no API process.');
  return first.pid;
}
