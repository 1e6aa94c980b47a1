import { type Finding, ok, problem, warning } from './finding.ts';

const ANSWER_TIMEOUT_MS = 5_000;
const QUESTIONS = 20;
const SLOW_MS = 5;
const SKEW_WARNING_MS = 2_000;
const SKEW_PROBLEM_MS = 10_000;

/** The response of an address, without its body. */
export async function answerOf(url: string, headers: Record<string, string> = {}): Promise<Response> {
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) });
  await response.body?.cancel();
  return response;
}

/** The durations of repeated queries, in milliseconds. */
export async function timesOf(ask: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let question = 0; question < QUESTIONS; question += 1) {
    const startMs = performance.now();
    await ask();
    times.push(performance.now() - startMs);
  }
  return times;
}

export function medianOf(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
}

export function judgeLatency(service: string, times: readonly number[]): Finding {
  const medianMs = medianOf(times);
  const says = `${service} answers in ${medianMs.toFixed(2)} ms (median of ${times.length}).`;
  return medianMs > SLOW_MS
    ? warning(says, `Put ${service} nearer to this host: every call asks it several times.`)
    : ok(says);
}

/** The clocks of a service and of this host, in epoch milliseconds. */
export function judgeClock(service: string, itsMs: number, hostsMs: number, host = 'this host'): Finding {
  const skewMs = Math.abs(itsMs - hostsMs);
  const says = `The clocks of ${service} and ${host} differ by ${Math.round(skewMs / 1_000)} s.`;
  const mend = 'Synchronise both by NTP: signatures, leases and expiries go by them.';
  if (skewMs > SKEW_PROBLEM_MS) return problem(says, mend);
  return skewMs > SKEW_WARNING_MS ? warning(says, mend) : ok(says);
}
