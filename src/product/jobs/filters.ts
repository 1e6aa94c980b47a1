import { invalidParamError } from '../../platform/http/errors/errors.ts';
import { instantCorrections, parseDate, parseRfc3339Instant } from '../../platform/http/fields.ts';
import { parseVersionedReference } from '../../platform/ids/slugs.ts';
import { withoutAbsentFields } from '../../platform/values/present.ts';
import { DAY_MS } from '../../platform/values/units.ts';
import type { PresetsSlice } from '../presets/open.ts';
import type { JobFilterQuery } from './schema.ts';
import type { JobFilters } from './store.ts';

/**
 * Matches epoch seconds from 2001 to 2286. They are refused, because they were probably meant as such: as epoch
 * milliseconds, they would be instants of early 1970.
 */
const EPOCH_SECONDS_PATTERN = /^\d{10}$/;
const EPOCH_MS_PATTERN = /^-?\d{1,15}$/;
const LAST_MS_OF_DAY = DAY_MS - 1;
/**
 * The last instant of the year 9999. Instants are compared as text, so later years are not allowed: their text is
 * longer.
 */
const MAX_INSTANT_MS = Date.UTC(10_000, 0) - 1;

/**
 * Parses the filters of GET /jobs and GET /jobs/counts.
 * @throws ApiError invalid_param on createdFrom or createdTo; invalid_param or preset_not_found on preset.
 */
export async function parseJobFilters(
  accountId: string,
  { preset, op, rootJobId, ...sent }: JobFilterQuery,
  presets: Pick<PresetsSlice, 'find'>,
): Promise<JobFilters> {
  return {
    ...(preset !== undefined && (await findPresetFilter(accountId, preset, presets))),
    ...withoutAbsentFields({ op, rootJobId }),
    ...parseCreationWindow(sent),
  };
}

/** A range of creation times, as instants in text. Both ends are inclusive. */
export interface CreationWindow {
  createdFrom?: string;
  createdTo?: string;
}

/**
 * Parses a range of creation times from epoch milliseconds, dates or instants.
 * @param prefix the text before the field names in messages, such as `from.`.
 * @throws ApiError invalid_param on createdFrom or createdTo.
 */
export function parseCreationWindow(
  { createdFrom, createdTo }: { createdFrom?: string | number; createdTo?: string | number },
  prefix = '',
): CreationWindow {
  const from = parseRangeBound(`${prefix}createdFrom`, createdFrom, 0);
  const to = parseRangeBound(`${prefix}createdTo`, createdTo, LAST_MS_OF_DAY);
  if (from !== undefined && to !== undefined && from > to) {
    const message = `${prefix}createdFrom is after ${prefix}createdTo, so nothing was created between them: exchange the two.`;
    throw invalidParamError(`${prefix}createdFrom`, message, undefined, [
      { param: `${prefix}createdFrom`, replace: createdTo },
      { param: `${prefix}createdTo`, replace: createdFrom },
    ]);
  }
  return withoutAbsentFields({ createdFrom: from, createdTo: to });
}

async function findPresetFilter(accountId: string, reference: string, presets: Pick<PresetsSlice, 'find'>) {
  const { preset, version } = await presets.find(accountId, reference, 'preset');
  const hasVersion = parseVersionedReference(reference)?.version !== undefined;
  return { presetId: preset._id, ...(hasVersion && { presetVersion: version.version }) };
}

/**
 * Parses one end of the range.
 * @param intoDayMs the time of day in milliseconds that a date without a time stands for.
 */
function parseRangeBound(
  param: string,
  sent: string | number | undefined,
  intoDayMs: number,
): string | undefined {
  if (sent === undefined) return undefined;
  const text = String(sent);
  const instantMs = EPOCH_MS_PATTERN.test(text) ? Number(text) : parseIsoMs(text, intoDayMs);
  const instant = new Date(Math.min(instantMs, MAX_INSTANT_MS));
  if (Number.isNaN(instant.getTime()) || EPOCH_SECONDS_PATTERN.test(text)) {
    const message = `${param} must be epoch milliseconds, a date (2026-01-31) or an instant (2026-01-31T12:00:00Z).`;
    throw invalidParamError(param, message, undefined, instantCorrections(param, text));
  }
  return instant.toISOString();
}

/**
 * Parses a date or an instant to epoch milliseconds; NaN for any other text. An instant without a time zone is read as
 * UTC.
 */
function parseIsoMs(text: string, intoDayMs: number): number {
  const day = parseDate(text);
  return day === null ? (parseRfc3339Instant(text, 'Z')?.getTime() ?? Number.NaN) : day.getTime() + intoDayMs;
}
