import { resolve } from 'node:path';
import { compareWithBaseline } from './compare/commands.ts';
import { importSuite, withOverrides } from './load/checked-suite.ts';
import { inspectInstance, remarksOn } from './load/instance.ts';
import { runLoad } from './load/run.ts';
import type { StageProgress, StageResult } from './load/stage.ts';
import { type CaseResult, mostFrequentErrorOf } from './load/tally.ts';
import { environmentOf, openTarget } from './load/target.ts';
import { checkedMemory, checkedThresholds } from './load/thresholds.ts';
import type { BenchOptions } from './options.ts';
import { memoryTrend, reportOf } from './report/load-report.ts';
import { plottedPage } from './report/pages.ts';
import { writeResult } from './results.ts';
import { type Stopping, unlessStopped } from './stopping.ts';
import type { SuiteRow } from './suite.ts';

/**
 * Runs a suite under load once, and writes its report. With --thresholds the exit code is 1 when one is broken. A
 * stopped run reports the data measured so far.
 * @param file the module whose default export is the suite.
 */
export async function runLoadSuite(file: string, options: BenchOptions, { signal }: Stopping): Promise<void> {
  const suiteFile = resolve(file);
  const suite = withOverrides(await importSuite(suiteFile), options.overrides);
  console.log(`${suite.name}: ${suite.description}`);
  await using target = await unlessStopped(openTarget({ ...options, ...environmentOf(suite) }), signal);
  const instance = await unlessStopped(inspectInstance(target.url, target.keys), signal);
  for (const sentence of remarksOn(instance, suite)) console.log(sentence);
  const { imagesFolder: picturesFolder } = options;
  const run = { suite, suiteFile, picturesFolder, target, signal, onProgress: showProgress };
  const result = await runLoad(run);
  const measured = result.stages.map(({ name }) => name);
  const thresholds = (suite.thresholds ?? []).filter(
    ({ stage }) => !result.isStopped || measured.includes(stage),
  );
  const memory = memoryTrend(result.samples);
  const checks = [...checkedThresholds(thresholds, result.stages), ...checkedMemory(suite, memory)];
  const broken = checks.flatMap(({ failure }) => failure ?? []);
  showStages(result.stages);
  if (result.isStopped) console.log('Stopped by hand: the figures are of the time until then.');
  for (const sentence of broken) console.log(`Threshold: ${sentence}`);
  const url = options.url === '' ? null : target.url;
  const now = new Date();
  const report = reportOf({
    suite,
    command: options.command,
    result,
    memory,
    url,
    instance,
    brokenThresholds: broken,
    now,
  });
  await writeResult(suite.name, {
    result: report,
    html: plottedPage({ title: `${suite.name} ${report.at}`, report, script: 'load.js' }),
    folder: options.out,
    formats: options.formats,
    flat: { suite: suite.name, at: report.at, rows: rowsOf(result.stages), checks },
  });
  if (options.baseline !== '' && !result.isStopped) await compareWithBaseline(report, options);
  if (options.thresholds && broken.length > 0) process.exitCode = 1;
}

const NO_VALUE = 'none';

/** Shows the progress line: rewritten on a terminal, printed every tenth second elsewhere. */
function showProgress(stage: string, { at, right, errors, p50, p99 }: StageProgress): void {
  const latency = p50 === null ? 'no right answer' : `p50 ${p50} ms  p99 ${p99} ms`;
  const line = `${stage}  ${at} s  ${right} right/s  ${errors} errors  ${latency}`;
  if (process.stdout.isTTY) process.stdout.write(`\r\x1b[K${line}`);
  else if (at % 10 === 0) console.log(line);
}

/** Shows the table at the end, and the reasons of stages in which the loader was the limit: they have no figures. */
function showStages(stages: readonly StageResult[]): void {
  if (process.stdout.isTTY) process.stdout.write('\r\x1b[K');
  console.table(rowsOf(stages));
  for (const { name, loader } of stages) if (loader.limit !== null) console.log(`${name}: ${loader.limit}`);
}

/** One row for each case of each stage. */
function rowsOf(stages: readonly StageResult[]): SuiteRow[] {
  return stages.flatMap(({ name, loader, cases }) =>
    Object.entries(cases).map(([caseName, result]) => rowOf(name, caseName, result, loader.limit !== null)),
  );
}

function rowOf(stage: string, caseName: string, result: CaseResult, isLimited: boolean): SuiteRow {
  const { askedPerSecond, offeredPerSecond, latencyMs: ms, errorShare } = result;
  const figure = (value: number | null | undefined) => (isLimited ? NO_VALUE : (value ?? NO_VALUE));
  return {
    stage,
    case: caseName,
    'asked/s': askedPerSecond ?? '',
    'sent/s': offeredPerSecond,
    'right/s': figure(result.perSecond),
    'items/s': result.itemsPerSecond === null ? '' : figure(result.itemsPerSecond),
    'errors %': errorShare === null ? NO_VALUE : Number((errorShare * 100).toFixed(2)),
    unanswered: result.unanswered,
    drained: result.drained,
    'sent late': result.sentLate,
    p50: figure(ms?.p50),
    p95: figure(ms?.p95),
    p99: figure(ms?.p99),
    'most errors': mostFrequentErrorOf(result),
  };
}
