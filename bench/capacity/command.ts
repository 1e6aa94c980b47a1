import { MEGABYTE_BYTES } from '../../src/platform/values/units.ts';
import { processesBelow } from '../cpu.ts';
import { importSuite } from '../load/checked-suite.ts';
import { inspectInstance, remarksOn } from '../load/instance.ts';
import { type Loader, openLoader } from '../load/run.ts';
import type { StageResult } from '../load/stage.ts';
import type { LoadSuite } from '../load/suite.ts';
import { type CaseResult, type Figures, rounded } from '../load/tally.ts';
import { environmentOf, type LoadTarget, openTarget } from '../load/target.ts';
import type { BenchOptions } from '../options.ts';
import { hostFacts } from '../report/load-report.ts';
import { plottedPage } from '../report/pages.ts';
import { writeResult } from '../results.ts';
import { type Stopping, unlessStopped } from '../stopping.ts';
import {
  brokenCondition,
  type CapacityFound,
  type Condition,
  queueGrowth,
  readObjective,
  searchCapacity,
  type TriedRate,
} from './search.ts';

const OWN_SUITE = new URL('../suites/capacity.ts', import.meta.url).pathname;
const DEFAULT_OBJECTIVE = 'p99<1s,errors<0.1%';
const DEFAULT_SECONDS = 10;
const DEFAULT_CONNECTIONS = 8;
const CLOSED_LOOP_SECONDS = 5;
/**
 * The fewest calls of a probe, so that its p99 is meaningful. For this, a probe may last up to three times its usual
 * length.
 */
const MIN_PROBE_CALLS = 300;
const MAX_PROBE_LENGTH_FACTOR = 3;
/** The length of the probe that confirms the reported rate, as a multiple of the usual length. */
const CONFIRMATION_LENGTH_FACTOR = 2;

/** One rate that was tried on a case. Times are milliseconds. */
export interface CapacityProbe extends TriedRate {
  seconds: number;
  /** Calls sent per second. They differ from the rate only by chance. */
  sentPerSecond: number;
  /** Right answers per second, which are reported as the capacity. */
  perSecond: number;
  p50: number | null;
  p99: number | null;
  errorShare: number | null;
  /** CPU time of the instance per right answer; null if it runs elsewhere. */
  cpuMs: number | null;
  /** Memory of all processes of the instance at the end; null if it runs elsewhere. */
  megabytes: number | null;
  /**
   * The reason why the rate does not hold: an unmet condition, a growing queue, or a loader at its limit; null if it
   * holds.
   */
  broken: string | null;
  /** Whether the loader was the limit, and not the instance. */
  isLoaderLimit: boolean;
}

/** The capacity of one case. */
export interface CapacityResult extends CapacityFound<CapacityProbe> {
  case: string;
  description: string;
  /** Whether a higher rate may hold, because the search was cut short or the loader was the limit. */
  isAtLeast: boolean;
  probes: CapacityProbe[];
}

/**
 * `capacity [case …] --slo 'p99<200ms,errors<0.1%'`: searches for the highest arrival rate at which each case, loaded
 * alone, meets the objective without a growing queue. It reports the right answers per second at that rate. With
 * --suite, the cases are those of another suite.
 */
export async function runCapacity(options: BenchOptions, { signal }: Stopping): Promise<void> {
  const objective = options.slo || DEFAULT_OBJECTIVE;
  const conditions = readObjective(objective);
  const suiteFile = options.suiteFile || OWN_SUITE;
  const suite = await importSuite(suiteFile);
  const names = chooseCases(suite, options.names.slice(1));
  await using target = await unlessStopped(openTarget({ ...options, ...environmentOf(suite) }), signal);
  const instance = await unlessStopped(inspectInstance(target.url, target.keys), signal);
  for (const sentence of remarksOn(instance, suite)) console.log(sentence);
  const { imagesFolder: picturesFolder, overrides, out } = options;
  using loader = await openLoader({ suiteFile, picturesFolder, target, signal });
  const results: CapacityResult[] = [];
  for (const name of names) {
    if (signal.aborted) break;
    const search = { name, loader, target, signal, conditions, ...overrides };
    const { description } = suite.cases[name] ?? { description: '' };
    results.push({ case: name, description, ...(await measureCapacity(search)) });
  }
  const rows = results.map(rowOf);
  console.table(rows);
  const at = new Date().toISOString();
  const { command, url } = options;
  const report = { kind: 'capacity', at, command, objective, url: url || null, host: hostFacts(), results };
  const html = plottedPage({ title: `capacity ${at}`, report, script: 'capacity.js' });
  const flat = { suite: 'capacity', at, rows, checks: [] };
  await writeResult('capacity', { result: report, html, folder: out, formats: options.formats, flat });
}

/** @throws Error for a case that the suite does not have. */
function chooseCases({ name, cases }: LoadSuite, names: readonly string[]): string[] {
  const known = Object.keys(cases);
  for (const one of names)
    if (!known.includes(one)) throw new Error(`${name} has no case ${one}: ${known.join(', ')}.`);
  return names.length > 0 ? [...names] : known;
}

interface CaseSearch {
  name: string;
  loader: Loader;
  target: LoadTarget;
  signal: AbortSignal;
  conditions: readonly Condition[];
  /** The length of a probe; null for the default. */
  seconds: number | null;
  connections: number | null;
}

async function measureCapacity(search: CaseSearch): Promise<Omit<CapacityResult, 'case' | 'description'>> {
  const { name, loader, target, signal, conditions } = search;
  const probes: CapacityProbe[] = [];
  const first = await measureClosedLoopRate(search);
  /**
   * Tries a rate; null if the run was stopped.
   * @param times the length of the probe, as a multiple of the usual one.
   */
  async function tryRate(rate: number, times: number): Promise<CapacityProbe | null> {
    if (signal.aborted) return null;
    const usual = search.seconds ?? DEFAULT_SECONDS;
    const seconds =
      times * Math.min(MAX_PROBE_LENGTH_FACTOR * usual, Math.max(usual, MIN_PROBE_CALLS / rate));
    const perSecond = { [name]: rate };
    const stage = { name: `${name} at ${rate}`, seconds, loop: 'open', perSecond } as const;
    const result = await loader.run(stage, { rates: perSecond, round: probes.length });
    const figures = result.cases[name];
    if (signal.aborted || figures === undefined) return null;
    const done = probeOf(rate, { figures, slices: result.slices[name] ?? [], result, conditions, target });
    probes.push(done);
    console.log(sentenceOf(name, done));
    return done;
  }
  const found = await searchCapacity<CapacityProbe>({
    first,
    probe: (rate) => tryRate(rate, 1),
    confirm: (rate) => tryRate(rate, CONFIRMATION_LENGTH_FACTOR),
  });
  const isAtLeast = found.isCutShort || found.next?.isLoaderLimit === true;
  return { ...found, isAtLeast, probes };
}

/** The rate of a few busy connections, with which the search begins. */
async function measureClosedLoopRate({ name, loader, connections }: CaseSearch): Promise<number> {
  const busy = { [name]: connections ?? DEFAULT_CONNECTIONS };
  const stage = {
    name: `${name}, closed`,
    seconds: CLOSED_LOOP_SECONDS,
    loop: 'closed',
    connections: busy,
  } as const;
  const { cases } = await loader.run(stage, { rates: {} });
  return Math.max(1, cases[name]?.perSecond ?? 1);
}

function probeOf(
  rate: number,
  measured: {
    figures: CaseResult;
    slices: readonly Figures[];
    result: StageResult;
    conditions: readonly Condition[];
    target: LoadTarget;
  },
): CapacityProbe {
  const { figures, slices, result, conditions, target } = measured;
  const { right, perSecond, offeredPerSecond, latencyMs, errorShare } = figures;
  const { instanceCpuMs, seconds, loader } = result;
  const broken = loader.limit ?? brokenCondition(figures, conditions) ?? queueGrowth(slices, seconds);
  return {
    rate,
    holds: broken === null,
    seconds,
    sentPerSecond: offeredPerSecond,
    perSecond,
    p50: latencyMs?.p50 ?? null,
    p99: latencyMs?.p99 ?? null,
    errorShare,
    cpuMs: instanceCpuMs === undefined || right === 0 ? null : rounded(instanceCpuMs / right),
    megabytes: target.pid === null ? null : memoryOf(target.pid),
    broken,
    isLoaderLimit: loader.limit !== null,
  };
}

function memoryOf(pid: number): number {
  return Math.round(processesBelow(pid).reduce((sum, { rssBytes }) => sum + rssBytes, 0) / MEGABYTE_BYTES);
}

function sentenceOf(name: string, probe: CapacityProbe): string {
  const { sentPerSecond, perSecond, seconds, p50, p99, broken } = probe;
  const rates = `${rounded(sentPerSecond, 1)} calls/s, ${rounded(perSecond, 1)} right/s`;
  const judgement = broken === null ? 'holds' : `does not hold (${broken})`;
  return `${name}: ${rates} for ${Math.round(seconds)} s: p50 ${p50 ?? 'none'} ms, p99 ${p99 ?? 'none'} ms: ${judgement}`;
}

function rowOf({ case: name, best, next, isAtLeast }: CapacityResult) {
  return {
    case: name,
    'right/s': best === null ? 'none' : rounded(best.perSecond, 1),
    'sent/s': best === null ? 'none' : rounded(best.sentPerSecond, 1),
    more: isAtLeast ? 'perhaps' : 'no',
    'per CPU second': best?.cpuMs ? rounded(1000 / best.cpuMs, 1) : '',
    p50: best?.p50 ?? '',
    p99: best?.p99 ?? '',
    'CPU ms': best?.cpuMs ?? '',
    MB: best?.megabytes ?? '',
    'why not more': next?.broken ?? '',
  };
}
