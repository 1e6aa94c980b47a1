import { invalidParam } from '../../../platform/http/errors/errors.ts';
import { EVENT_TYPES, type EventType, JOB_EVENT_TYPES } from '../../events/event.ts';

/**
 * The subscribed types, each once and in the order of the catalogue; every job-level type when none were sent.
 * @throws ApiError invalid_param on events: empty, or of an unknown type.
 */
export function checkEvents(sent: readonly string[] | undefined): EventType[] {
  if (sent === undefined) return [...JOB_EVENT_TYPES];
  const allowed = EVENT_TYPES;
  if (sent.length === 0) {
    throw invalidParam('events', 'events is empty: leave it out for every job-level event.', { allowed });
  }
  const unknown = sent.find((type) => !EVENT_TYPES.some((known) => known === type));
  if (unknown !== undefined) {
    const message = `"${unknown}" is not an event: events may hold ${EVENT_TYPES.join(', ')}.`;
    throw invalidParam('events', message, { allowed });
  }
  return EVENT_TYPES.filter((type) => sent.includes(type));
}
