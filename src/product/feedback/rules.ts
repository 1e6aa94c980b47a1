import { invalidParamError } from '../../platform/http/errors/errors.ts';
import { hasMoreCharacters } from '../../platform/values/lengths.ts';
import {
  FEEDBACK_KINDS,
  type Feedback,
  type FeedbackRequest,
  MAX_FEEDBACK_CONTEXT_CHARACTERS,
  MAX_FEEDBACK_MESSAGE_CHARACTERS,
} from './schema.ts';

/** The stored part of a report. */
export type FeedbackReport = Pick<Feedback, 'kind' | 'message' | 'op' | 'context'>;

/**
 * A stored report: its kind in lower case, its message trimmed.
 * @throws ApiError invalid_param on kind, message or context.
 */
export function feedbackReportOf({ kind, message, ...rest }: FeedbackRequest): FeedbackReport {
  const report = { ...rest, kind: checkKind(kind), message: checkMessage(message) };
  if (rest.context !== undefined) checkContext(rest.context);
  return report;
}

function checkKind(sent: string): Feedback['kind'] {
  const kind = FEEDBACK_KINDS.find((known) => known === sent.toLowerCase());
  if (kind === undefined) {
    throw invalidParamError('kind', `kind must be one of ${FEEDBACK_KINDS.join(', ')}.`, {
      allowed: FEEDBACK_KINDS,
    });
  }
  return kind;
}

function checkMessage(sent: string): string {
  const message = sent.trim();
  if (message === '')
    throw invalidParamError('message', 'message is blank: say what happened or what is missing.');
  if (hasMoreCharacters(message, MAX_FEEDBACK_MESSAGE_CHARACTERS))
    throw tooLong('message', MAX_FEEDBACK_MESSAGE_CHARACTERS);
  return message;
}

function checkContext(context: Record<string, unknown>): void {
  if (hasMoreCharacters(JSON.stringify(context), MAX_FEEDBACK_CONTEXT_CHARACTERS))
    throw tooLong('context', MAX_FEEDBACK_CONTEXT_CHARACTERS);
}

function tooLong(param: 'message' | 'context', limit: number) {
  const measured = param === 'context' ? 'context as JSON' : 'message';
  return invalidParamError(param, `${measured} is too long: at most ${limit} characters are allowed.`, {
    limit,
  });
}
