import type { FastifyBaseLogger, FastifyRequest } from 'fastify';
import type { ApiError } from './errors.ts';

/** The interval at which refusals are summed up in the log. */
const SUMMARY_MS = 1_000;
/** Reasons that are summed up, in addition to rate limits: they are caused by a loaded host or a full disk. */
const SUMMED = ['capacity', 'deadline_exceeded', 'storage_full'];

/** The reason of a refusal that is summed up; undefined for other refusals. */
export function summedReasonOf({ code, details }: ApiError): string | undefined {
  const reason = String(details?.reason ?? code);
  return code === 'rate_limited' || SUMMED.includes(reason) ? reason : undefined;
}

/**
 * Sums up refusals that a loaded host sends by the thousand: one log line per second and reason contains their number.
 */
interface RefusalLog {
  /** Counts a refusal; false for one that gets a log line of its own. */
  counts(request: FastifyRequest, failure: ApiError): boolean;
  close(): void;
}

export function createRefusalLog(log: FastifyBaseLogger): RefusalLog {
  const summed = new Map<string, { refused: number; requestId: string; route: string | undefined }>();
  let timer: NodeJS.Timeout | undefined;

  function write(): void {
    timer = undefined;
    for (const [reason, sum] of summed) log.info({ reason, ...sum }, 'Calls were refused');
    summed.clear();
  }

  return {
    counts(request, failure) {
      const reason = summedReasonOf(failure);
      if (reason === undefined) return false;
      const sum = summed.get(reason) ?? {
        refused: 0,
        requestId: request.id,
        route: request.routeOptions.url,
      };
      sum.refused += 1;
      summed.set(reason, sum);
      timer ??= setTimeout(write, SUMMARY_MS).unref();
      return true;
    },
    close() {
      clearTimeout(timer);
      write();
    },
  };
}
