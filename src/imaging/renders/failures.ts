import { totalMsOf } from '../../../workers/protocol.ts';
import type { DrawnPage, RenderFailure, RenderResult } from '../../../workers/render/protocol.ts';
import {
  type ApiError,
  invalidParamError,
  temporarilyUnavailableError,
} from '../../platform/http/errors/errors.ts';
import { type CallWarning, warningPerName } from '../../platform/http/hooks/warnings.ts';
import { MEGABYTE_BYTES } from '../../platform/values/units.ts';
import type { WithQueueTime } from '../images/image-call.ts';
import { LostThreadError } from './thread.ts';

/** A drawn page, with a warning for each piece of its text that is cut off. */
export type RenderedPage = DrawnPage & WithQueueTime & { warnings: CallWarning[] };

/** Seconds until a caller may retry if no browser is installed. An operator has to install one first. */
const NO_BROWSER_RETRY_SECONDS = 60;

/** The error for a page that spent most of its time waiting. */
export function rendererBusyError(retryAfterSeconds: number): ApiError {
  const message =
    'The renderer was busy with other pages until the time of this one was over; make the same call again later.';
  return temporarilyUnavailableError('capacity', message, retryAfterSeconds);
}

/** The error for a page that spent most of its time being drawn. */
export function drawingTooSlowError(retryAfterSeconds: number): ApiError {
  const message = 'The page was not drawn in time; make it simpler, or make the same call again later.';
  return temporarilyUnavailableError('deadline_exceeded', message, retryAfterSeconds);
}

/** Rethrows an error of a pool as an API error. Only the error of a lost thread needs a conversion. */
export function rethrowAsApiError(error: unknown): never {
  if (!(error instanceof LostThreadError)) throw error;
  const message = 'The renderer was lost; make the same call again.';
  throw temporarilyUnavailableError('worker_unreachable', message, 1, error);
}

/**
 * Returns the page of an answer, or throws the answer's error. The `queueMs` of the page is all time in which it was
 * neither drawn nor encoded: a browser may have to be started first, or the page was moved to another one.
 * @param elapsedMs from the call to the answer.
 * @param refusal the field of the call that brought the page, and the error for a late page.
 */
export function requireRenderedPage(
  answer: RenderResult,
  elapsedMs: number,
  refusal: RenderRefusal,
): RenderedPage {
  if (answer.kind === 'rendered') {
    const queueMs = Math.max(0, elapsedMs - totalMsOf(answer.timings));
    return { ...answer, queueMs, warnings: warningPerName('page_text_cut', answer.text.cut) };
  }
  throw renderFailureError(answer, refusal);
}

interface RenderRefusal {
  param: string;
  createDeadlineError: () => Error;
}

function renderFailureError(
  { reason, message, limitBytes = 0 }: RenderFailure,
  { param, createDeadlineError }: RenderRefusal,
): Error {
  switch (reason) {
    case 'load':
      return invalidParamError(param, `The renderer could not load this template: ${message}`);
    case 'memory':
      return invalidParamError(
        param,
        `The page needs more memory than the ${limitBytes / MEGABYTE_BYTES} MB that a page may have: make it smaller, or use fewer and smaller filters, layers and copies.`,
        { reason: 'page_too_large', limit: limitBytes },
      );
    case 'deadline':
      return createDeadlineError();
    case 'crash':
      return temporarilyUnavailableError(
        'worker_unreachable',
        'The browser was lost with the page; make the same call again.',
        1,
      );
    case 'no_browser':
      return temporarilyUnavailableError(
        'worker_unreachable',
        'This server has no browser that starts, so it renders nothing; its log shows the operator how to fix that.',
        NO_BROWSER_RETRY_SECONDS,
      );
  }
}

export function stoppedForOthersError(drawnMs: number, retryAfterSeconds: number): ApiError {
  const message = `The page was stopped after ${drawnMs / 1000} s of drawing, because others waited: make it simpler, or make the same call again later.`;
  return temporarilyUnavailableError('capacity', message, retryAfterSeconds);
}
