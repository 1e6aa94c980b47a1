import { invalidParam } from '../../platform/http/errors/errors.ts';
import { isLongerThan } from '../../platform/values/lengths.ts';
import {
  FEEDBACK_KINDS,
  type Feedback,
  type FeedbackRequest,
  MAX_CONTEXT_CHARACTERS,
  MAX_MESSAGE_CHARACTERS,
} from './schema.ts';

/** The stored part of a report. */
export type Report = Pick<Feedback, 'kind' | 'message' | 'op' | 'context'>;

/**
 * A stored report: its kind in lower case, its message trimmed.
 * @throws ApiError invalid_param on kind, message or context.
 */
export function reportOf({ kind, message, ...rest }: FeedbackRequest): Report {
  const report = { ...rest, kind: checkKind(kind), message: checkMessage(message) };
  if (rest.context !== undefined) checkContext(rest.context);
  return report;
}

function checkKind(sent: string): Feedback['kind'] {
  const kind = FEEDBACK_KINDS.find((known) => known === sent.toLowerCase());
  if (kind === undefined) {
    throw invalidParam('kind', `kind must be one of ${FEEDBACK_KINDS.join(', ')}.`, {
      allowed: FEEDBACK_KINDS,
    });
  }
  return kind;
}

function checkMessage(sent: string): string {
  const message = sent.trim();
  if (message === '')
    throw invalidParam('message', 'message is blank: say what happened or what is missing.');
  if (isLongerThan(message, MAX_MESSAGE_CHARACTERS)) throw tooLong('message', MAX_MESSAGE_CHARACTERS);
  return message;
}

function checkContext(context: Record<string, unknown>): void {
  if (isLongerThan(JSON.stringify(context), MAX_CONTEXT_CHARACTERS))
    throw tooLong('context', MAX_CONTEXT_CHARACTERS);
}

function tooLong(param: 'message' | 'context', limit: number) {
  const measured = param === 'context' ? 'context as JSON' : 'message';
  return invalidParam(param, `${measured} is too long: at most ${limit} characters are allowed.`, { limit });
}
