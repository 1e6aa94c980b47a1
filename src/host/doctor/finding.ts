/** The result of one check of the host or its services. */
export interface DoctorFinding {
  state: 'ok' | 'warning' | 'problem';
  /** What was found, in one sentence. */
  message: string;
  /** The remedy, in one sentence; null if none is needed. */
  remedy: string | null;
}

export function okFinding(message: string): DoctorFinding {
  return { state: 'ok', message, remedy: null };
}

/** A finding that the service works, but not as well as it could. */
export function warningFinding(message: string, remedy: string): DoctorFinding {
  return { state: 'warning', message, remedy };
}

/** A finding that the service does not work, or may lose data. */
export function problemFinding(message: string, remedy: string): DoctorFinding {
  return { state: 'problem', message, remedy };
}

/** Returns the findings of a check, or one problem if the check itself throws. */
export async function findingsOrProblem(
  check: () => Promise<DoctorFinding[]>,
  message: (reason: string) => string,
  remedy: string,
): Promise<DoctorFinding[]> {
  try {
    return await check();
  } catch (error) {
    return [problemFinding(message(innermostMessageOf(error).replace(/\.$/, '')), remedy)];
  }
}

/** The message of the innermost cause of an error. Drivers wrap the error of a socket, which states the reason. */
export function innermostMessageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof AggregateError && error.errors.length > 0) return innermostMessageOf(error.errors[0]);
  return error.cause === undefined ? error.message || error.name : innermostMessageOf(error.cause);
}

const ADDRESS_REQUEST_TIMEOUT_MS = 5_000;
const LATENCY_SAMPLES = 20;
const MAX_GOOD_LATENCY_MS = 5;
const MAX_GOOD_CLOCK_SKEW_MS = 2_000;
const MAX_TOLERABLE_CLOCK_SKEW_MS = 10_000;

/** Requests an address, and returns the response without its body. */
export async function requestAddress(url: string, headers: Record<string, string> = {}): Promise<Response> {
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(ADDRESS_REQUEST_TIMEOUT_MS) });
  await response.body?.cancel();
  return response;
}

/**
 * Calls `ask` several times, one after another.
 * @returns the duration of each call in milliseconds.
 */
export async function measureDurationsMs(ask: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let sample = 0; sample < LATENCY_SAMPLES; sample += 1) {
    const startMs = performance.now();
    await ask();
    times.push(performance.now() - startMs);
  }
  return times;
}

export function medianOf(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
}

export function latencyFinding(service: string, times: readonly number[]): DoctorFinding {
  const medianMs = medianOf(times);
  const message = `${service} answers in ${medianMs.toFixed(2)} ms (median of ${times.length}).`;
  return medianMs > MAX_GOOD_LATENCY_MS
    ? warningFinding(message, `Put ${service} nearer to this host: every call asks it several times.`)
    : okFinding(message);
}

/** Compares the clocks of a service and of this host, in epoch milliseconds. */
export function clockFinding(
  service: string,
  serviceMs: number,
  hostMs: number,
  host = 'this host',
): DoctorFinding {
  const skewMs = Math.abs(serviceMs - hostMs);
  const message = `The clocks of ${service} and ${host} differ by ${Math.round(skewMs / 1_000)} s.`;
  const remedy = 'Synchronise both by NTP: signatures, leases and expiries depend on them.';
  if (skewMs > MAX_TOLERABLE_CLOCK_SKEW_MS) return problemFinding(message, remedy);
  return skewMs > MAX_GOOD_CLOCK_SKEW_MS ? warningFinding(message, remedy) : okFinding(message);
}
