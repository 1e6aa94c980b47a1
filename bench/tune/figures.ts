import type { Round } from '../compare/rounds.ts';
import { compareRounds } from '../compare/rows.ts';
import type { StageResult } from '../load/stage.ts';

/** Means of all rounds of one case in one stage, the base first. */
export interface CaseMeans {
  stage: string;
  case: string;
  /** Right answers per second. */
  perSecond: [number | null, number | null];
  /** Latencies of the right answers, in milliseconds. */
  p50: [number | null, number | null];
  p99: [number | null, number | null];
  /** CPU time of all processes of the instance per right answer of the stage, in milliseconds. */
  cpuMsPerCall: [number | null, number | null];
}

/** The figures of a trial as an operator reads them: answers per second and milliseconds. */
export function figuresOf(rounds: readonly Round[]): CaseMeans[] {
  const rows = compareRounds(rounds);
  const stages: readonly StageResult[] = rounds[0]?.a ?? [];
  return stages.flatMap(({ name: stage, cases }) =>
    Object.keys(cases).map((name) => {
      const pair = (measure: string, of = name): [number | null, number | null] => {
        const row = rows.find((one) => one.stage === stage && one.case === of && one.measure === measure);
        return [row?.a ?? null, row?.b ?? null];
      };
      return {
        stage,
        case: name,
        perSecond: pair('perSecond'),
        p50: pair('p50'),
        p99: pair('p99'),
        cpuMsPerCall: pair('cpuMsPerCall', 'all cases'),
      };
    }),
  );
}
