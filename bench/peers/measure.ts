import { median, percentile, round, type SuiteRow } from '../suite.ts';
import {
  bytesAt,
  checkedResponse,
  type PeerResponse,
  readResponse,
  WrongResponseError,
} from './responses.ts';
import type { PeerCase, PeerSide } from './sides.ts';

export interface Effort {
  inFlight: number;
  rounds: number;
  roundMs: number;
  quality: number;
}

/** The figures of one side in one round. */
interface RoundResult {
  perSecond: number;
  /** CPU time per call; null if the processes are not known. */
  cpuMs: number | null;
  durationsMs: number[];
}

/** The measurements of a side in one case. */
interface SideMeasurement {
  side: PeerSide;
  /** The first right answer; null before it. */
  answer: PeerResponse | null;
  rounds: RoundResult[];
  /** The reason why the side is not measured; empty if it is. */
  note: string;
}

/**
 * Measures all sides with one case. In each round, the sides take turns. The first side is the base of the comparison.
 * @returns a row for each side. A side that answers wrongly has a note instead of figures.
 */
export async function measureCase(
  peerCase: PeerCase,
  sides: readonly [PeerSide, ...PeerSide[]],
  effort: Effort,
): Promise<SuiteRow[]> {
  const all: SideMeasurement[] = sides.map((side) => ({ side, answer: null, rounds: [], note: '' }));
  for (const one of all)
    await skipAfterWrongResponse(one, async () => {
      one.answer = await checkedResponse(one.side, peerCase, effort.quality);
    });
  for (let number = 0; number <= effort.rounds; number += 1)
    for (const one of rotate(all, number))
      await skipAfterWrongResponse(one, async () => {
        const result = await runRound(peerCase, one.side, effort);
        // The first round warms up all sides.
        if (number > 0) one.rounds.push(result);
      });
  const [base] = all;
  const rows: SuiteRow[] = [];
  for (const one of all) {
    const { answer, side, note } = one;
    const isCompared = base !== undefined && base !== one && base.note === '' && note === '';
    const bytesOfBase =
      isCompared && answer !== null
        ? await bytesAt(answer.likeness, base.side, peerCase, effort.quality)
        : null;
    rows.push({ case: peerCase.name, server: side.name, ...figuresOf(one, base, bytesOfBase), note });
  }
  return rows;
}

/** Runs the work of a side, unless the side has answered wrongly before. The first wrong answer is noted. */
async function skipAfterWrongResponse(one: SideMeasurement, work: () => Promise<void>): Promise<void> {
  if (one.note !== '') return;
  try {
    await work();
  } catch (error) {
    if (!(error instanceof WrongResponseError)) throw error;
    one.note = `Not measured: it ${error.message}.`;
  }
}

/** Each round begins with another side, so that none is always the first after a pause. */
function rotate<T>(items: readonly T[], by: number): T[] {
  return items.map((_, index) => items[(index + by) % items.length] as T);
}

async function runRound(
  peerCase: PeerCase,
  side: PeerSide,
  { inFlight, roundMs, quality }: Effort,
): Promise<RoundResult> {
  const durationsMs: number[] = [];
  const cpuBefore = side.cpuMs();
  const startedMs = performance.now();
  const caller = async () => {
    while (performance.now() - startedMs < roundMs) {
      const sentMs = performance.now();
      await readResponse(side, peerCase, quality);
      durationsMs.push(performance.now() - sentMs);
    }
  };
  const callers = await Promise.allSettled(Array.from({ length: inFlight }, caller));
  for (const one of callers) if (one.status === 'rejected') throw one.reason;
  const cpuAfter = side.cpuMs();
  return {
    perSecond: (durationsMs.length * 1_000) / (performance.now() - startedMs),
    cpuMs: cpuBefore === null || cpuAfter === null ? null : (cpuAfter - cpuBefore) / durationsMs.length,
    durationsMs,
  };
}

/**
 * The columns of a side; all are empty if it answered wrongly.
 * @param bytesOfBase size of the answer of the base at the same likeness; null if that is not known.
 */
function figuresOf(
  { answer, rounds, note }: SideMeasurement,
  base: SideMeasurement | undefined,
  bytesOfBase: number | null,
): SuiteRow {
  const isRight = answer !== null && note === '';
  const cpu = rounds.flatMap(({ cpuMs }) => cpuMs ?? []);
  const cpuRatios = rounds.flatMap(({ cpuMs }, index) => {
    const ofBase = base?.rounds[index]?.cpuMs ?? null;
    return cpuMs === null || ofBase === null ? [] : [cpuMs / ofBase];
  });
  const middle = (values: readonly number[], digits: number) =>
    isRight && values.length > 0 ? round(median(values), digits) : '';
  return {
    'CPU ms': middle(cpu, 1),
    'ratio CPU': middle(cpuRatios, 2),
    'calls/s': middle(
      rounds.map(({ perSecond }) => perSecond),
      1,
    ),
    'p50 ms': middle(
      rounds.map(({ durationsMs }) => percentile(durationsMs, 0.5)),
      1,
    ),
    bytes: isRight ? answer.bytes : '',
    SSIMULACRA2: isRight ? round(answer.likeness, 1) : '',
    'ratio bytes': isRight && bytesOfBase !== null ? round(answer.bytes / bytesOfBase) : '',
  };
}
