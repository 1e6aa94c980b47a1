import type { StageResult } from '../../bench/load/stage.ts';
import type { Threshold } from '../../bench/load/suite.ts';
import type { CaseResult } from '../../bench/load/tally.ts';
import { checkedThresholds } from '../../bench/load/thresholds.ts';

interface Given {
  perSecond: number;
  p50: number;
  errorShare?: number;
  right?: number;
}

/** A stage of one case, `calls`, whose slices lie around its figures by a share, upwards and downwards in turn. */
export function stageOf(figures: Given, spread: number): StageResult {
  const slices = Array.from({ length: 10 }, (_, index) => {
    const factor = 1 + (index % 2 === 0 ? spread : -spread);
    return caseOf({ ...figures, perSecond: figures.perSecond * factor, p50: figures.p50 * factor });
  });
  const { perSecond, p50 } = figures;
  return {
    name: 'stage',
    loop: 'closed',
    seconds: 10,
    cases: { calls: caseOf(figures) },
    slices: { calls: slices },
    timeline: { calls: [{ at: 1, right: perSecond, errors: 0, p50, p99: p50 * 2, late: 0 }] },
    loader: { cpuShare: 0.1, lagP99Ms: 6, lateShare: 0, limit: null },
  };
}

export function caseOf({ perSecond, p50, errorShare = 0, right = 1_000 }: Given): CaseResult {
  const wrong = Math.round((right * errorShare) / (1 - errorShare));
  return {
    sent: right + wrong,
    right,
    wrong,
    unanswered: 0,
    itemsPerSecond: null,
    drained: 0,
    askedPerSecond: null,
    offeredPerSecond: perSecond,
    sentLate: 0,
    retries: null,
    perSecond,
    errorShare,
    latencyMs: { mean: p50, p50, p90: p50 * 1.4, p95: p50 * 1.5, p99: p50 * 2, p999: p50 * 3, max: p50 * 4 },
    bytesPerSecond: perSecond * 1000,
    errors: {},
    timingMs: { admit: 1, queue: 2, process: 3 },
    curve: [
      [0.5, p50],
      [0.99, p50 * 2],
      [1, p50 * 4],
    ],
  };
}

/** The sentences of the thresholds that are broken. */
export function brokenThresholds(thresholds: readonly Threshold[], stages: readonly StageResult[]): string[] {
  return checkedThresholds(thresholds, stages).flatMap(({ failure }) => failure ?? []);
}
