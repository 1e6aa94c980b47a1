import type { CallEnd } from './sender.ts';
import { type CaseResult, type Figures, LATE_MS, rounded, type Second, Tally, Timeline } from './tally.ts';

/** The number of equal parts of a stage. Two runs are compared part by part. */
const STAGE_SLICES = 10;
/** The most errors that are counted by name. All others are counted as `other`. */
const MAX_ERRORS = 50;

/** The figures of one case at the end of its stage. */
export interface CaseRecord {
  result: CaseResult;
  slices: Figures[];
  timeline: Second[];
}

interface TimeSlice {
  /** The calls that became due in this slice. */
  tally: Tally;
  /** The right answers that arrived in this slice. */
  inside: number;
}

/** The facts of a case that its figures need. */
export interface CaseOptions {
  name: string;
  /** The rate that the suite asks for; null in a closed stage. */
  askedPerSecond: number | null;
  isRetried: boolean;
  /** The items of one right answer, such as those of a batch. */
  items: number;
}

/**
 * Records the calls of one case in a stage: each one that is sent ends as right, wrong or unanswered. Throughput counts
 * all answers that arrived during the stage, including those to retries. Latencies and errors count only the first
 * attempt of every call.
 */
export class CaseRecorder {
  readonly #startMs: number;
  readonly #sliceMs: number;
  readonly #total = new Tally();
  readonly #slices: TimeSlice[] = Array.from({ length: STAGE_SLICES }, () => ({
    tally: new Tally(),
    inside: 0,
  }));
  readonly #timeline: Timeline;
  readonly #errors: Record<string, number> = {};
  readonly #timing: Record<string, number> = {};
  readonly #retries = { sent: 0, right: 0 };
  #sent = 0;
  #late = 0;
  #inside = 0;
  #drained = 0;
  #bytes = 0;
  #isOver = false;

  /** @param startMs by `performance.now()`. */
  constructor(startMs: number, durationMs: number) {
    this.#startMs = startMs;
    this.#sliceMs = durationMs / STAGE_SLICES;
    this.#timeline = new Timeline(startMs);
  }

  sent(dueMs: number): void {
    const sentMs = performance.now();
    this.#sent += 1;
    if (sentMs - dueMs > LATE_MS) this.#late += 1;
    this.#timeline.sent(dueMs, sentMs);
  }

  /** Records a call that became due, but that a slow loader did not send during the stage. */
  unsent(): void {
    this.#late += 1;
  }

  /** Ends the stage. Answers that arrive later count as drained. */
  close(): void {
    this.#isOver = true;
  }

  ended(outcome: CallEnd): void {
    const { end, error, dueMs, timing } = outcome;
    this.#total.add(outcome);
    this.#timeline.ended(outcome);
    this.#slice(dueMs).tally.add(outcome);
    if (!this.#isOver) this.#countWithinStage(outcome);
    else if (end !== 'unanswered') this.#drained += 1;
    if (end === 'right') {
      for (const [part, ms] of Object.entries(timing)) this.#timing[part] = (this.#timing[part] ?? 0) + ms;
    } else {
      const name = error in this.#errors || Object.keys(this.#errors).length < MAX_ERRORS ? error : 'other';
      this.#errors[name] = (this.#errors[name] ?? 0) + 1;
    }
  }

  #countWithinStage({ end, endMs, bytes }: CallEnd): void {
    this.#bytes += bytes;
    if (end !== 'right') return;
    this.#inside += 1;
    this.#slice(endMs).inside += 1;
  }

  retried(outcome: CallEnd): void {
    this.#retries.sent += 1;
    if (outcome.end === 'right') this.#retries.right += 1;
    if (!this.#isOver) this.#countWithinStage(outcome);
  }

  /**
   * The figures of the stage.
   * @param seconds length of the stage.
   * @throws Error when a call has not ended, or has ended twice: the figures would be wrong.
   */
  record(seconds: number, { name, askedPerSecond, isRetried, items }: CaseOptions): CaseRecord {
    const figures = this.#total.figures(this.#inside / seconds);
    if (figures.sent !== this.#sent)
      throw new Error(`The case ${name} sent ${this.#sent} calls, but ${figures.sent} of them have ended.`);
    return {
      result: {
        ...figures,
        itemsPerSecond: items === 1 ? null : rounded(figures.perSecond * items),
        drained: this.#drained,
        askedPerSecond: askedPerSecond === null ? null : rounded(askedPerSecond),
        offeredPerSecond: rounded(this.#sent / seconds),
        sentLate: this.#late,
        retries: isRetried ? this.#retries : null,
        bytesPerSecond: Math.round(this.#bytes / seconds),
        errors: this.#errors,
        timingMs: Object.fromEntries(
          Object.entries(this.#timing).map(([part, ms]) => [part, rounded(ms / figures.right)]),
        ),
        curve: this.#total.curve(),
      },
      slices: this.#slices.map(({ tally, inside }) => tally.figures(inside / (this.#sliceMs / 1000))),
      timeline: this.#timeline.seconds(),
    };
  }

  #slice(momentMs: number): TimeSlice {
    const index = Math.floor((momentMs - this.#startMs) / this.#sliceMs);
    return this.#slices[Math.max(0, Math.min(STAGE_SLICES - 1, index))] as TimeSlice;
  }
}
