import type { FastifyBaseLogger, FastifyRequest } from 'fastify';
import type { ApiError } from '../errors.ts';

/** How often refusals are summed up in the log. */
const SUMMARY_MS = 1_000;
/** Beside those of rate limits: they say no more than that the host is loaded, or its disk full. */
const SUMMED = ['capacity', 'deadline_exceeded', 'storage_full'];

/** Refusals that a loaded host answers by the thousand: one line per second and reason has their number. */
interface RefusalLog {
  /** Counts a refusal; false for one that has a line of its own. */
  counts(request: FastifyRequest, failure: ApiError): boolean;
  close(): void;
}

/** Why a call was refused, where such refusals are summed. */
export function summedReasonOf({ code, details }: ApiError): string | undefined {
  const reason = String(details?.reason ?? code);
  return code === 'rate_limited' || SUMMED.includes(reason) ? reason : undefined;
}

export function createRefusalLog(log: Pick<FastifyBaseLogger, 'info'>): RefusalLog {
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
      const known = summed.get(reason);
      if (known === undefined)
        summed.set(reason, { refused: 1, requestId: request.id, route: request.routeOptions.url });
      else known.refused += 1;
      timer ??= setTimeout(write, SUMMARY_MS).unref();
      return true;
    },
    close() {
      clearTimeout(timer);
      write();
    },
  };
}
