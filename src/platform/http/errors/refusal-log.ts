import type { FastifyBaseLogger, FastifyRequest } from 'fastify';
import type { ApiError } from './errors.ts';

/** The interval between two summaries of refusals in the log. */
const SUMMARY_MS = 1_000;
/** Reasons that are summarised besides rate limits. A loaded host or a full disk causes them in large numbers. */
const SUMMED_REASONS = ['capacity', 'deadline_exceeded', 'storage_full'];

/** The reason of an error that is summarised; undefined for other errors. */
export function summedReasonOf({ code, details }: ApiError): string | undefined {
  const reason = String(details?.reason ?? code);
  return code === 'rate_limited' || SUMMED_REASONS.includes(reason) ? reason : undefined;
}

/**
 * Summarises refusals that a loaded host sends by the thousand: one log line per second and reason contains their
 * number.
 */
export class RefusalLog {
  readonly #log: FastifyBaseLogger;
  readonly #summed = new Map<string, { refused: number; requestId: string; route: string | undefined }>();
  #timer: NodeJS.Timeout | undefined;

  constructor(log: FastifyBaseLogger) {
    this.#log = log;
  }

  /** Counts a refusal. False for a refusal that gets its own log line. */
  counts(request: FastifyRequest, failure: ApiError): boolean {
    const reason = summedReasonOf(failure);
    if (reason === undefined) return false;
    const sum = this.#summed.get(reason) ?? {
      refused: 0,
      requestId: request.id,
      route: request.routeOptions.url,
    };
    sum.refused += 1;
    this.#summed.set(reason, sum);
    this.#timer ??= setTimeout(() => this.#write(), SUMMARY_MS).unref();
    return true;
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#write();
  }

  #write(): void {
    this.#timer = undefined;
    for (const [reason, sum] of this.#summed) this.#log.info({ reason, ...sum }, 'Calls were refused');
    this.#summed.clear();
  }
}
