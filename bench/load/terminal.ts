import type { SuiteRow } from '../suite.ts';
import type { StageProgress, StageResult } from './stage.ts';
import type { CaseResult } from './tally.ts';

const NONE = 'none';

/** Shows the progress line: rewritten on a terminal, printed every tenth second elsewhere. */
export function showProgress(stage: string, { at, right, errors, p50, p99 }: StageProgress): void {
  const latency = p50 === null ? 'no right answer' : `p50 ${p50} ms  p99 ${p99} ms`;
  const line = `${stage}  ${at} s  ${right} right/s  ${errors} errors  ${latency}`;
  if (process.stdout.isTTY) process.stdout.write(`\r\x1b[K${line}`);
  else if (at % 10 === 0) console.log(line);
}

/** Shows the table at the end, and the reasons of stages in which the loader was the limit: they have no figures. */
export function showStages(stages: readonly StageResult[]): void {
  if (process.stdout.isTTY) process.stdout.write('\r\x1b[K');
  console.table(rowsOf(stages));
  for (const { name, loader } of stages) if (loader.limit !== null) console.log(`${name}: ${loader.limit}`);
}

/** One row for each case of each stage. */
export function rowsOf(stages: readonly StageResult[]): SuiteRow[] {
  return stages.flatMap(({ name, loader, cases }) =>
    Object.entries(cases).map(([caseName, result]) => rowOf(name, caseName, result, loader.limit !== null)),
  );
}

function rowOf(stage: string, caseName: string, result: CaseResult, isLimited: boolean): SuiteRow {
  const { askedPerSecond, offeredPerSecond, latencyMs: ms, errorShare } = result;
  const figure = (value: number | null | undefined) => (isLimited ? NONE : (value ?? NONE));
  return {
    stage,
    case: caseName,
    'asked/s': askedPerSecond ?? '',
    'sent/s': offeredPerSecond,
    'right/s': figure(result.perSecond),
    'items/s': result.itemsPerSecond === null ? '' : figure(result.itemsPerSecond),
    'errors %': errorShare === null ? NONE : Number((errorShare * 100).toFixed(2)),
    unanswered: result.unanswered,
    drained: result.drained,
    'sent late': result.sentLate,
    p50: figure(ms?.p50),
    p95: figure(ms?.p95),
    p99: figure(ms?.p99),
    'most errors': mostFrequent(result.errors),
  };
}

function mostFrequent(errors: Record<string, number>): string {
  const [first] = Object.entries(errors).sort(([, a], [, b]) => b - a);
  return first === undefined ? '' : `${first[0]} × ${first[1]}`;
}
