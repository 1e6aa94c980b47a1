import type { StageResult } from '../../bench/load/stage.ts';
import type { CaseResult } from '../../bench/load/tally.ts';

/** A stage of one case, `calls`, whose slices lie around its figures by a share, upwards and downwards in turn. */
export function stageOf(figures: { perSecond: number; p50: number }, spread: number): StageResult {
  const slices = Array.from({ length: 10 }, (_, index) => {
    const factor = 1 + (index % 2 === 0 ? spread : -spread);
    return caseOf({ perSecond: figures.perSecond * factor, p50: figures.p50 * factor });
  });
  return {
    name: 'stage',
    loop: 'closed',
    seconds: 10,
    cases: { calls: caseOf(figures) },
    slices: { calls: slices },
    timeline: [{ at: 1, perSecond: figures.perSecond, errors: 0, p50: figures.p50, p99: figures.p50 * 2 }],
    retries: {},
    loader: { cpuShare: 0.1, lagP99Ms: 6, limit: null },
  };
}

export function caseOf({ perSecond, p50 }: { perSecond: number; p50: number }): CaseResult {
  return {
    calls: Math.round(perSecond * 10),
    perSecond,
    errorShare: 0,
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
