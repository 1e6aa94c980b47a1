import type { GroupSpec } from '../port.ts';
import { valueAt } from './keys.ts';

type GroupRow = Record<string, string | number | null>;

/** Adds up a stream of documents, with one row in memory for each distinct key. */
export function groupedSums(
  documents: Iterable<object>,
  { by, sums }: Pick<GroupSpec, 'by' | 'sums'>,
): GroupRow[] {
  const nothing = Object.fromEntries(Object.keys(sums).map((name) => [name, 0]));
  const rows = new Map<string, GroupRow>();
  for (const document of documents) {
    const keys = Object.entries(by).map(([name, field]) => [name, valueAt(document, field) ?? null]);
    const text = JSON.stringify(keys);
    const row: GroupRow = rows.get(text) ?? { ...Object.fromEntries(keys), ...nothing };
    rows.set(text, row);
    for (const [name, field] of Object.entries(sums)) {
      const value = field === 1 ? 1 : valueAt(document, field);
      if (typeof value === 'number') row[name] = Number(row[name]) + value;
    }
  }
  return [...rows.values()];
}
