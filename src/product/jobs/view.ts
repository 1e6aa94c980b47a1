import { invalidParam } from '../../platform/http/errors/errors.ts';
import { hintFirst, likely, meantWords } from '../../platform/ids/nearest.ts';
import { Job, JobSummary, MAX_INLINE_ITEMS, type ViewQuery } from './schema.ts';

/** What an answer shows of each job. */
export interface JobView {
  /** The names of the fields; undefined for all of them. */
  fields: ReadonlySet<string> | undefined;
  /** The most items that it shows inline. */
  maxItems: number;
}

const SUMMARY_FIELDS = Object.keys(JobSummary.properties);

/**
 * Reads `fields` and `items` of a query.
 * @param allowed the names that `fields` may have: those of a job, unless told.
 * @throws ApiError invalid_param on fields
 */
export function readView(
  { fields, items = MAX_INLINE_ITEMS }: ViewQuery,
  allowed: readonly string[] = Object.keys(Job.properties),
): JobView {
  // A replay reads the query before its validation, when numbers are still text.
  const maxItems = Number(items);
  if (fields === undefined) return { fields, maxItems };
  const names = new Set(fields.split(',').map((name) => name.trim()));
  const unknown = [...names].find((name) => !allowed.includes(name));
  if (unknown !== undefined) {
    const message = `fields names ${JSON.stringify(unknown)}, which no job has: use names of ${allowed.join(', ')}, separated by commas.`;
    const words = likely(unknown, allowed);
    const [meant] = words;
    const mended = [...names].map((name) => (name === unknown ? meant : name)).join(',');
    const mends = words.length === 1 ? [{ param: 'fields', replace: mended }] : [];
    const details = { received: unknown, allowed };
    throw invalidParam('fields', hintFirst(meantWords(words), message), details, mends);
  }
  const showsItems = ['items', 'itemsTruncated', 'parameters'].some((name) => names.has(name));
  return { fields: names, maxItems: showsItems ? maxItems : 0 };
}

/** Reads the view of a list of jobs, which has no items. */
export function readListView(query: Pick<ViewQuery, 'fields'>): JobView {
  return readView(query, SUMMARY_FIELDS);
}

/** Whether a view needs no more than the document of the job. */
export function needsSummaryOnly({ fields }: JobView): boolean {
  return fields !== undefined && [...fields].every((name) => SUMMARY_FIELDS.includes(name));
}

/** The fields of a job that its caller asked for. */
export function inView<T extends object>(job: T, { fields }: JobView): T | Partial<T> {
  if (fields === undefined) return job;
  return Object.fromEntries(Object.entries(job).filter(([name]) => fields.has(name))) as Partial<T>;
}
