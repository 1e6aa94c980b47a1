import { type Static, Type } from '@sinclair/typebox';
import { componentSchema, DATE_OR_INSTANT_SCHEMA, int64Field } from '../../platform/http/fields.ts';

export const LedgerEntry = componentSchema('LedgerEntry', {
  id: Type.String(),
  type: Type.String({ description: 'grant, charge, overage, hold or release.' }),
  credits: int64Field('Signed change of the balance; 0 on hold and release.'),
  held: int64Field('The amount, on hold and release; else 0.'),
  balanceAfter: int64Field('The balance after this movement.'),
  jobId: Type.Optional(Type.String()),
  note: Type.Optional(Type.String()),
  createdAt: Type.String({ format: 'date-time' }),
});
export type LedgerEntry = Static<typeof LedgerEntry>;

const totalFields = {
  jobs: int64Field('Jobs created in the window.'),
  credits: int64Field('Credits charged for those jobs.'),
  items: int64Field('Items of those jobs that settled.'),
  sync: int64Field('Successful synchronous calls that counted against the allowance.'),
};

/** The totals over the whole time window of GET /usage. */
export const UsageTotal = Type.Object(totalFields);
export type UsageTotal = Static<typeof UsageTotal>;

/** The totals of one group of the time window, such as one op. */
export const UsageBucket = componentSchema('UsageBucket', {
  key: Type.String({ description: 'An op, an API key id or `console`, or a UTC date.' }),
  ...totalFields,
});
export type UsageBucket = Static<typeof UsageBucket>;

export const UsageReport = componentSchema('Usage', {
  from: Type.String({ format: 'date-time', description: 'Inclusive; a whole minute.' }),
  to: Type.String({ format: 'date-time', description: 'Exclusive; a whole minute.' }),
  groupBy: Type.String(),
  groups: Type.Array(UsageBucket, { description: 'Ordered by key; only those with usage.' }),
  total: UsageTotal,
  asOf: Type.String({
    format: 'date-time',
    description:
      'Synchronous calls that were answered before this instant are counted; later ones may be missing.',
  }),
});
export type UsageReport = Static<typeof UsageReport>;

/** The query of GET /usage. `from` and `to` are plain text here; usage.ts parses them. */
export const UsageQuery = Type.Object({
  from: Type.Optional(
    Type.String({
      description:
        'YYYY-MM-DD or an ISO-8601 instant, rounded down to a whole minute; 30 days before `to` when left out.',
      documented: DATE_OR_INSTANT_SCHEMA,
    }),
  ),
  to: Type.Optional(
    Type.String({
      description:
        'YYYY-MM-DD or an ISO-8601 instant, rounded down to a whole minute; the end of the present minute when left out.',
      documented: DATE_OR_INSTANT_SCHEMA,
    }),
  ),
  groupBy: Type.Optional(
    Type.String({
      description: 'op (when left out), key or day.',
      documented: { enum: ['op', 'key', 'day'] },
    }),
  ),
});
export type UsageQuery = Static<typeof UsageQuery>;
