const DATE = /^\d{4}-\d{2}-\d{2}$/;
const INSTANT = /^(\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})?$/i;

/** The first instant of a day in UTC; null for other texts and for dates that do not exist, such as February 30. */
export function readDate(text: string): Date | null {
  if (!DATE.test(text)) return null;
  const start = new Date(`${text}T00:00:00.000Z`);
  // A date that does not exist becomes another one when it is formatted again.
  return !Number.isNaN(start.getTime()) && start.toISOString().startsWith(text) ? start : null;
}

/**
 * Parses an instant of RFC 3339 with optional seconds; null for anything else, such as "March 3", which JavaScript
 * would parse in the time zone of the host.
 * @param zone the zone of an instant without one; if absent, instants must have a zone.
 */
export function readInstant(text: string, zone?: 'Z'): Date | null {
  const [, day, , , , itsZone = zone] = INSTANT.exec(text) ?? [];
  if (day === undefined || itsZone === undefined || readDate(day) === null) return null;
  const instant = new Date(text.endsWith(itsZone) ? text.toUpperCase() : `${text.toUpperCase()}${itsZone}`);
  return Number.isNaN(instant.getTime()) ? null : instant;
}
