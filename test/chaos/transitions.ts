import { strict as assert } from 'node:assert';
import type { ItemDocument, JobDocument } from '../../src/product/jobs/job.ts';
import {
  ITEM_TRANSITIONS,
  JOB_TRANSITIONS,
  type StateTransition,
} from '../../src/product/jobs/transitions.ts';

/** The fields of a document that a table decides; null for one that the document does not have. */
export type Standing = Record<string, unknown>;

/** How the documents begin. */
export const NEW_JOB = { phase: 'hidden', shown: 0, status: 'PENDING' };
export const NEW_ITEM = { queue: 'ready', status: 'PENDING' };

export const standingOf = {
  job: ({ phase, shown, status }: JobDocument): Standing => ({ phase, shown, status }),
  item: ({ queue, status }: ItemDocument): Standing => ({ queue: queue ?? null, status }),
};

/** The standings that rows of a table lead to from one, in any number of steps; that one is the first. */
export function reachableFrom(standing: Standing, table: Record<string, StateTransition>): Standing[] {
  const found = new Map([[JSON.stringify(standing), standing]]);
  for (const next of found.values())
    for (const { from, to } of Object.values(table)) {
      const isFrom = Object.entries(from).every(([field, value]) => [value].flat().includes(next[field]));
      const changes = Object.entries(to).filter(([field]) => field in next);
      const after = { ...next, ...Object.fromEntries(changes) };
      if (isFrom) found.set(JSON.stringify(after), after);
    }
  return [...found.values()];
}

/** Follows documents from one reading to the next: each moves along the rows of its table, and in no other way. */
export class Followed {
  readonly #last = new Map<string, Standing>();

  follow(jobs: readonly JobDocument[], items: readonly ItemDocument[]): void {
    for (const job of jobs) this.#check(job._id, standingOf.job(job), NEW_JOB, JOB_TRANSITIONS);
    for (const item of items) this.#check(item._id, standingOf.item(item), NEW_ITEM, ITEM_TRANSITIONS);
  }

  #check(id: string, now: Standing, first: Standing, table: Record<string, StateTransition>): void {
    const before = this.#last.get(id) ?? first;
    this.#last.set(id, now);
    const [from, to] = [JSON.stringify(before), JSON.stringify(now)];
    const reachable = reachableFrom(before, table).map((standing) => JSON.stringify(standing));
    assert.ok(reachable.includes(to), `${id} went from ${from} to ${to}, where no row of its table leads`);
  }
}
