/** Fields of a job besides the parameters of its op. */
const JOB_FIELDS = [
  'prompt',
  'model',
  'count',
  'templateId',
  'items',
  'subjects',
  'collection',
  'variants',
  'maxCredits',
];

/** A job of an op, without its assets. */
export function jobRequestOf(op: string, values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(values);
  const parameters = Object.fromEntries(entries.filter(([name]) => !JOB_FIELDS.includes(name)));
  const fields = Object.fromEntries(entries.filter(([name]) => JOB_FIELDS.includes(name)));
  return { op, ...fields, ...(Object.keys(parameters).length > 0 && { parameters }) };
}
