import type { CaseResult } from '../load/tally.ts';

const MEASURES = ['p50', 'p95', 'p99', 'errors'] as const;

/** One condition of a service level objective. */
export interface Condition {
  measure: (typeof MEASURES)[number];
  /** Milliseconds for a latency, a share for errors. The measured value has to be below it. */
  below: number;
  /** The condition as the operator wrote it. */
  text: string;
}

/**
 * Reads a service level objective such as `p99<200ms,errors<0.1%`.
 * @throws Error with what is accepted. An objective needs a latency: without one, a queue could grow without end.
 */
export function readObjective(text: string): Condition[] {
  const conditions = text.split(',').map((part) => parseCondition(part.trim()));
  if (!conditions.some(({ measure }) => measure !== 'errors'))
    throw new Error(`--slo is "${text}", but it needs a latency, such as p99<200ms.`);
  return conditions;
}

function parseCondition(text: string): Condition {
  const [, name, number, unit] = /^(\w+)\s*<\s*(\d+(?:\.\d+)?)\s*(ms|s|%)$/.exec(text) ?? [];
  const measure = MEASURES.find((one) => one === name);
  const isShare = unit === '%';
  if (measure === undefined || number === undefined || isShare !== (measure === 'errors'))
    throw new Error(
      `--slo has the condition "${text}", but p50, p95 or p99 below milliseconds or seconds, or errors below a percentage is expected: p99<200ms,errors<0.1%.`,
    );
  const factor = { ms: 1, s: 1000, '%': 0.01 }[unit as 'ms' | 's' | '%'];
  return { measure, below: Number(number) * factor, text };
}

/** The first condition that a case does not meet, with its figure; null when all of them are met. */
export function brokenCondition(result: CaseResult, conditions: readonly Condition[]): string | null {
  for (const { measure, below, text } of conditions) {
    const value = measure === 'errors' ? result.errorShare : (result.latencyMs?.[measure] ?? null);
    if (value !== null && value < below) continue;
    // No error at all meets every condition, also that of no error.
    if (measure === 'errors' && value === 0) continue;
    return value === null ? `${text}: no right answer` : `${text}: ${figureText(measure, value)}`;
  }
  return null;
}

function figureText(measure: Condition['measure'], value: number): string {
  return measure === 'errors' ? `${Number((value * 100).toFixed(2))} %` : `${value} ms`;
}
