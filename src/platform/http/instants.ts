const DATE = /^\d{4}-\d{2}-\d{2}$/;
const INSTANT = /^(\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})?$/i;

/** The first instant of a day in UTC; null for what is no date, or a day that no calendar has, such as February 30. */
export function readDate(text: string): Date | null {
  if (!DATE.test(text)) return null;
  const start = new Date(`${text}T00:00:00.000Z`);
  // A day that no calendar has is another one when it is read back.
  return !Number.isNaN(start.getTime()) && start.toISOString().startsWith(text) ? start : null;
}

/**
 * An instant as RFC 3339 writes it, seconds being optional; null for anything else, such as "March 3", which JavaScript
 * would read in the time zone of the host.
 * @param zone what stands for a zone that is absent; without it, an instant needs its zone.
 */
export function readInstant(text: string, zone?: 'Z'): Date | null {
  const [, day, , , , itsZone = zone] = INSTANT.exec(text) ?? [];
  if (day === undefined || itsZone === undefined || readDate(day) === null) return null;
  const instant = new Date(text.endsWith(itsZone) ? text.toUpperCase() : `${text.toUpperCase()}${itsZone}`);
  return Number.isNaN(instant.getTime()) ? null : instant;
}
