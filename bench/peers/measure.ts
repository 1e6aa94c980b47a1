import { median, percentile, type Row, round } from '../suite.ts';
import { answered, bytesAt, judged, type PeerAnswer, WrongAnswerError } from './answers.ts';
import type { PeerCase, Side } from './sides.ts';

export interface Effort {
  inFlight: number;
  rounds: number;
  roundMs: number;
  quality: number;
}

/** What one side did in one round. */
interface Turn {
  perSecond: number;
  /** CPU time per call; null where the processes are not known. */
  cpuMs: number | null;
  durationsMs: number[];
}

/** What is known of a side in one case. */
interface Measured {
  side: Side;
  /** Null until its first right answer. */
  answer: PeerAnswer | null;
  turns: Turn[];
  /** Why it is not measured; empty where it is. */
  note: string;
}

/**
 * Measures all sides at one case, in turn within each round; the first side is the one that others are compared with.
 * @returns a row for each side. One that answers wrongly has a note in place of figures.
 */
export async function measureCase(
  asked: PeerCase,
  sides: readonly [Side, ...Side[]],
  effort: Effort,
): Promise<Row[]> {
  const all: Measured[] = sides.map((side) => ({ side, answer: null, turns: [], note: '' }));
  for (const one of all)
    await unlessWrong(one, async () => {
      one.answer = await judged(one.side, asked, effort.quality);
    });
  for (let number = 0; number <= effort.rounds; number += 1)
    for (const one of rotated(all, number))
      await unlessWrong(one, async () => {
        const turn = await turnOf(asked, one.side, effort);
        // The first round warms up all sides.
        if (number > 0) one.turns.push(turn);
      });
  const [base] = all;
  const rows: Row[] = [];
  for (const one of all) {
    const { answer, side, note } = one;
    const isCompared = base !== undefined && base !== one && base.note === '' && note === '';
    const bytesOfBase =
      isCompared && answer !== null ? await bytesAt(answer.likeness, base.side, asked, effort.quality) : null;
    rows.push({ case: asked.name, server: side.name, ...figuresOf(one, base, bytesOfBase), note });
  }
  return rows;
}

/** Does the work of a side that has only answered rightly so far, and notes the first wrong answer. */
async function unlessWrong(one: Measured, work: () => Promise<void>): Promise<void> {
  if (one.note !== '') return;
  try {
    await work();
  } catch (error) {
    if (!(error instanceof WrongAnswerError)) throw error;
    one.note = `Not measured: it ${error.message}.`;
  }
}

/** Each round begins with another side, so that none is always the first after a pause. */
function rotated<T>(items: readonly T[], by: number): T[] {
  return items.map((_, index) => items[(index + by) % items.length] as T);
}

async function turnOf(asked: PeerCase, side: Side, { inFlight, roundMs, quality }: Effort): Promise<Turn> {
  const durationsMs: number[] = [];
  const cpuBefore = side.cpuMs();
  const startedMs = performance.now();
  const caller = async () => {
    while (performance.now() - startedMs < roundMs) {
      const sentMs = performance.now();
      await answered(side, asked, quality);
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
 * The columns of a side; all are empty where it answered wrongly.
 * @param bytesOfBase what the base needs at the same likeness; null where that is not known.
 */
function figuresOf(
  { answer, turns, note }: Measured,
  base: Measured | undefined,
  bytesOfBase: number | null,
): Row {
  const isRight = answer !== null && note === '';
  const cpu = turns.flatMap(({ cpuMs }) => cpuMs ?? []);
  const cpuRatios = turns.flatMap(({ cpuMs }, index) => {
    const ofBase = base?.turns[index]?.cpuMs ?? null;
    return cpuMs === null || ofBase === null ? [] : [cpuMs / ofBase];
  });
  const middle = (values: readonly number[], digits: number) =>
    isRight && values.length > 0 ? round(median(values), digits) : '';
  return {
    'CPU ms': middle(cpu, 1),
    'ratio CPU': middle(cpuRatios, 2),
    'calls/s': middle(
      turns.map(({ perSecond }) => perSecond),
      1,
    ),
    'p50 ms': middle(
      turns.map(({ durationsMs }) => percentile(durationsMs, 0.5)),
      1,
    ),
    bytes: isRight ? answer.bytes : '',
    SSIMULACRA2: isRight ? round(answer.likeness, 1) : '',
    'ratio bytes': isRight && bytesOfBase !== null ? round(answer.bytes / bytesOfBase) : '',
  };
}
