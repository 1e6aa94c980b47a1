import { type TObject, type TProperties, Type } from '@sinclair/typebox';
import type { FastifyRequest } from 'fastify';
import type { CallCorrection } from './errors/corrections.ts';
import { invalidParamError, sentFieldAt } from './errors/errors.ts';
import { unknownWordError } from './errors/violations.ts';

/** Schemas of fields, each with its description. */
export const textField = (description: string) => Type.String({ description });
export const flagField = (description: string) => Type.Boolean({ description });
export const int32Field = (description: string) => Type.Integer({ format: 'int32', description });
export const int64Field = (description: string) => Type.Integer({ format: 'int64', description });
export const instantField = (description: string) => Type.String({ format: 'date-time', description });
/** The schema of a number without bounds, because a rule with its own message checks them. */
export const numberField = (description: string) => Type.Unsafe<number>({ type: 'number', description });
export const anyObjectField = (description: string) =>
  Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true, description });
export const anyValueField = (description: string) => Type.Unsafe<unknown>({ description });
export const oneOfField = <T extends string>(values: readonly T[], description: string) =>
  Type.Unsafe<T>({ type: 'string', enum: [...values], description });

const DATE_PATTERN = /^\d{4}-\d{2}-\d{2}$/;
const INSTANT_PATTERN =
  /^(\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})?$/i;

/**
 * Parses a date as the first instant of that day in UTC. Null for other texts and for dates that do not exist, such as
 * February 30.
 */
export function parseDate(text: string): Date | null {
  if (!DATE_PATTERN.test(text)) return null;
  const start = new Date(`${text}T00:00:00.000Z`);
  // A date that does not exist turns into another date when it is formatted again.
  return !Number.isNaN(start.getTime()) && start.toISOString().startsWith(text) ? start : null;
}

/**
 * Parses an instant of RFC 3339 with optional seconds. Null for anything else, such as "March 3", which JavaScript
 * would parse in the time zone of the host.
 * @param zone the zone of an instant that has none. If absent, instants must have a zone.
 */
export function parseRfc3339Instant(text: string, zone?: 'Z'): Date | null {
  const [, day, , , , itsZone = zone] = INSTANT_PATTERN.exec(text) ?? [];
  if (day === undefined || itsZone === undefined || parseDate(day) === null) return null;
  const instant = new Date(text.endsWith(itsZone) ? text.toUpperCase() : `${text.toUpperCase()}${itsZone}`);
  return Number.isNaN(instant.getTime()) ? null : instant;
}

/**
 * Parses a field that holds a date, or an instant, which is in UTC if it names no zone.
 * @throws ApiError invalid_param
 */
export function requireDateOrInstant(param: string, sent: string): Date {
  const instant = parseDate(sent) ?? parseRfc3339Instant(sent, 'Z');
  if (instant !== null) return instant;
  const message = `${param} must be a date (2026-01-31) or an instant (2026-01-31T12:00:00Z).`;
  throw invalidParamError(param, message, undefined, instantCorrections(param, sent));
}

/** Matches a date with any common separator or none, and an optional time after it. */
const LOOSE_DATE_PATTERN = /^(\d{4})[-/.]?(\d{2})[-/.]?(\d{2})(?:(?: *T *| +)(\S+))?$/i;

/** The corrections for an instant in another common form, such as `2026/01/31`, `2026-01-31 12:00` or an epoch time. */
export function instantCorrections(param: string, sent: string): CallCorrection[] {
  const replace = meantInstant(sent.trim());
  return replace === undefined ? [] : [{ param, replace }];
}

function meantInstant(text: string): string | undefined {
  const [, year, month, day, time] = LOOSE_DATE_PATTERN.exec(text) ?? [];
  const date = `${year}-${month}-${day}`;
  if (parseDate(date) !== null)
    return time === undefined ? date : parseRfc3339Instant(`${date}T${time}`, 'Z')?.toISOString();
  const isEpochTime = /^\d{10}(\d{3})?$/.test(text);
  const epochMs = isEpochTime ? Number(text.padEnd(13, '0')) : Number.NaN;
  const instant = new Date(/ (GMT|UTC)$/.test(text) ? text : epochMs);
  return Number.isNaN(instant.getTime()) ? undefined : instant.toISOString();
}

/**
 * Returns the sent value if it is one of the allowed values.
 * @throws ApiError invalid_param
 */
export function requireAllowed<T extends string>(param: string, sent: string, allowed: readonly T[]): T {
  const value = allowed.find((known) => known === sent);
  if (value !== undefined) return value;
  const message = `${param} must be one of ${allowed.join(', ')}.`;
  throw unknownWordError(sentFieldAt(param), sent, allowed, (hint) => `${message}${hint}`);
}

/** The names of the query field that makes a call a dry run: it is only checked and priced. */
export const DRY_RUN_QUERY_NAMES = ['dryRun', 'dry_run'] as const;

/**
 * The query fields of a dry run.
 * @param description says what the dry run does.
 */
export function dryRunQueryFields(description: string) {
  return {
    dryRun: Type.Optional(flagField(description)),
    dry_run: Type.Optional(flagField('The same as dryRun.')),
  };
}

/** Whether a call is a dry run. It may be called before validation, when values of a query are still text. */
export function isDryRun({ query }: Pick<FastifyRequest, 'query'>): boolean {
  const sent = query as Record<string, unknown>;
  return DRY_RUN_QUERY_NAMES.some((name) => String(sent[name]).toLowerCase() === 'true');
}

/** The schema of an object that the OpenAPI document names as a component. */
export function componentSchema<P extends TProperties>(title: string, properties: P): TObject<P> {
  return Type.Object(properties, { title });
}

/**
 * Schemas for the keyword `documented`. OpenAPI shows them, while rules with their own messages check the values. A
 * pattern may accept values that only a rule can refuse, such as a date that does not exist.
 */
export const NOT_BLANK_SCHEMA = { minLength: 1, pattern: '\\S' };
export const UNRESERVED_SLUG_SCHEMA = { pattern: '^(?!builtin-)(?!import$)[a-z0-9]+(-[a-z0-9]+)*$' };
export const VERSION_NUMBER_SCHEMA = { pattern: '^[1-9][0-9]{0,8}$' };
export const VERSIONED_REFERENCE_SCHEMA = { minLength: 1, pattern: '^[^@]+(@[1-9][0-9]{0,8})?$' };
export const DATE_OR_INSTANT_SCHEMA = {
  pattern: '^\\d{4}-\\d{2}-\\d{2}([Tt]\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,9})?)?([Zz]|[+-]\\d{2}:\\d{2}))?$',
};
export const HTTP_ADDRESS_SCHEMA = { format: 'uri', pattern: '^[hH][tT][tT][pP][sS]?://' };
export const CURSOR_SCHEMA = { pattern: '^[A-Za-z0-9_-]+$' };

/**
 * Whether a text has more characters than a limit. Characters are counted as in JSON schemas: an emoji outside the
 * basic plane is one. A text far above the limit is not counted to its end.
 */
export function hasMoreCharacters(text: string, limit: number): boolean {
  if (text.length <= limit) return false;
  return text.length > 2 * limit || Array.from(text).length > limit;
}
