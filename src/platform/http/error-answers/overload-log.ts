import type { FastifyBaseLogger } from 'fastify';
import type { ApiError } from '../errors.ts';

/** How often refusals are summed up in the log. */
const SUMMARY_MS = 1_000;

/** Refusals for want of capacity, which a loaded host answers by the thousand: one line per second says how many. */
interface OverloadLog {
  /** Counts a refusal; false for any other refusal, which is not its affair. */
  counts(failure: ApiError): boolean;
  close(): void;
}

/** Whether a refusal says no more than that the host is loaded. */
export function isOverload({ code, details }: ApiError): boolean {
  return code === 'provider_unavailable' && details?.reason === 'capacity';
}

export function createOverloadLog(log: Pick<FastifyBaseLogger, 'warn'>): OverloadLog {
  let refused = 0;
  let timer: NodeJS.Timeout | undefined;

  function write(): void {
    timer = undefined;
    if (refused > 0) log.warn({ refused }, 'Calls were refused for want of capacity');
    refused = 0;
  }

  return {
    counts(failure) {
      if (!isOverload(failure)) return false;
      refused += 1;
      timer ??= setTimeout(write, SUMMARY_MS).unref();
      return true;
    },
    close() {
      clearTimeout(timer);
      write();
    },
  };
}
