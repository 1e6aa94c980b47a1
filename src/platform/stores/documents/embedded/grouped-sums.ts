import type { GroupSpec } from '../port.ts';
import { valueAt } from './keys.ts';

type GroupRow = Record<string, string | number | null>;

/** Adds up a stream of documents, with one row in memory for each distinct key. */
export class GroupedSums {
  readonly #by: Array<[name: string, field: string]>;
  readonly #sums: Array<[name: string, field: string | 1]>;
  readonly #rows = new Map<string, GroupRow>();

  constructor(by: GroupSpec['by'], sums: GroupSpec['sums']) {
    this.#by = Object.entries(by);
    this.#sums = Object.entries(sums);
  }

  add(document: object): void {
    const keys = this.#by.map(([, field]) => (valueAt(document, field) ?? null) as string | number | null);
    const text = JSON.stringify(keys);
    const row = this.#rows.get(text) ?? this.#begin(keys);
    this.#rows.set(text, row);
    for (const [name, field] of this.#sums) {
      const value = field === 1 ? 1 : valueAt(document, field);
      row[name] = Number(row[name]) + (typeof value === 'number' ? value : 0);
    }
  }

  rows(): GroupRow[] {
    return [...this.#rows.values()];
  }

  #begin(keys: Array<string | number | null>): GroupRow {
    const row: GroupRow = {};
    for (const [at, [name]] of this.#by.entries()) row[name] = keys[at] ?? null;
    for (const [name] of this.#sums) row[name] = 0;
    return row;
  }
}
