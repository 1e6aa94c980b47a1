import type { Second, StageResult } from './stage.ts';

/** Shows the progress line: rewritten on a terminal, printed every tenth second elsewhere. */
export function showSecond(stage: string, { at, perSecond, errors, p50, p99 }: Second): void {
  const line = `${stage}  ${at} s  ${perSecond} right/s  ${errors} errors  p50 ${p50} ms  p99 ${p99} ms`;
  if (process.stdout.isTTY) process.stdout.write(`\r\x1b[K${line}`);
  else if (at % 10 === 0) console.log(line);
}

/** Shows the table at the end. A stage in which the loader was the limit has no figures. */
export function showStages(stages: readonly StageResult[]): void {
  if (process.stdout.isTTY) process.stdout.write('\r\x1b[K');
  const rows = stages.flatMap(({ name: stage, loader, cases }) =>
    Object.entries(cases).map(([name, { perSecond, errorShare, latencyMs, errors }]) =>
      loader.limit === null
        ? {
            stage,
            case: name,
            'right/s': perSecond,
            'errors %': Number((errorShare * 100).toFixed(2)),
            p50: latencyMs.p50,
            p95: latencyMs.p95,
            p99: latencyMs.p99,
            'p99.9': latencyMs.p999,
            'most errors': mostFrequent(errors),
          }
        : { stage, case: name, 'right/s': 'none', 'most errors': loader.limit },
    ),
  );
  console.table(rows);
}

function mostFrequent(errors: Record<string, number>): string {
  const [first] = Object.entries(errors).sort(([, a], [, b]) => b - a);
  return first === undefined ? '' : `${first[0]} × ${first[1]}`;
}
