import { strict as assert } from 'node:assert';
import fc from 'fast-check';
import type { Driven } from './driven.ts';
import * as act from './driven.ts';
import { all, itemsOf, jobsOf } from './invariants.ts';
import { type Fate, type ModelJob, type StateTable, StateTable as Table } from './table.ts';

const MAX_COMMANDS = 40;
const MAX_JOB_ITEMS = 4;
const FATES: Fate[] = ['done', 'done', 'refused', 'ours', 'put off'];

type Step = fc.AsyncCommand<StateTable, Driven>;

/** A step of a sequence; after each one everything is compared with the table. */
function step(
  description: string,
  run: (table: StateTable, driven: Driven) => unknown,
  check: (table: StateTable) => boolean = () => true,
): Step {
  return {
    check,
    async run(table, driven) {
      await run(table, driven);
      await act.compare(table, driven);
    },
    toString: () => description,
  };
}

const hasJobs = ({ jobs }: StateTable) => jobs.length > 0;
/** Counted from the newest one. */
const chosen = ({ jobs }: StateTable, choice: number) => jobs.at(-1 - (choice % jobs.length)) as ModelJob;

const STEPS = [
  fc
    .integer({ min: 1, max: MAX_JOB_ITEMS })
    .map((total) => step(`submit ${total} items`, (table, driven) => act.submit(table, driven, total))),
  fc
    .nat({ max: 5 })
    .map((choice) =>
      step(
        `cancel job -${choice}`,
        (table, driven) => act.cancel(table, driven, chosen(table, choice)),
        hasJobs,
      ),
    ),
  fc
    .nat({ max: 5 })
    .map((choice) =>
      step(
        `resume job -${choice}`,
        (table, driven) => act.resume(table, driven, chosen(table, choice)),
        hasJobs,
      ),
    ),
  ...[1, 2, 3].map(() =>
    fc.tuple(fc.nat({ max: 7 }), fc.constantFrom(...FATES)).map(([choice, fate]) =>
      step(
        `item ${choice} is ${fate}`,
        (table, driven) => act.settle(table, driven, choice, fate),
        (table) => table.running().length > 0,
      ),
    ),
  ),
  fc.constant(step('the process dies', act.die)),
  fc.constant(step('leases and pauses end', act.endLeases)),
  fc
    .constantFrom(4, 8)
    .map((days) => step(`${days} days pass`, (table, driven) => act.pass(table, driven, days), hasJobs)),
];

/** Brings every job to its end, and lets it expire: nothing of it is left. */
async function clear(table: StateTable, driven: Driven): Promise<void> {
  while (table.jobs.some(({ items }) => items.some(({ at }) => !/[A-Z]/.test(at)))) {
    while (table.running().length > 0) {
      act.settle(table, driven, 0, 'done');
      await act.compare(table, driven);
    }
    await act.endLeases(table, driven);
    await act.compare(table, driven);
  }
  await act.pass(table, driven, 8);
  await act.compare(table, driven);
  assert.deepEqual([await jobsOf(driven.world), await itemsOf(driven.world)], [[], []]);
  for (const name of ['jobDefinitions', 'assets'])
    assert.deepEqual(await all(driven.world, name), [], `nothing is left in ${name}`);
}

export interface StatesOptions {
  /** Sequences to try. */
  runs: number;
  /** Decides them all; chosen by fast-check, and printed on a failure, when it is left out. */
  seed?: number | undefined;
  /** Ends the search, and the shortening of a sequence that differs, after this time, with the result so far. */
  limitMs?: number;
  mongodbUrl?: string | undefined;
}

/**
 * Random sequences of calls, outcomes, deaths and time against the real engine, each step compared with the state
 * tables.
 * @throws Error with the seed and the shortest sequence that was found to differ.
 */
export async function checkStates({ runs, seed, limitMs, mongodbUrl }: StatesOptions): Promise<void> {
  const sequence = fc.commands(STEPS, { maxCommands: MAX_COMMANDS, size: 'max' });
  /** fast-check leaves a sequence alone that runs past the limit: it ends before its stores are closed. */
  let last: Promise<void> = Promise.resolve();
  const property = fc.asyncProperty(sequence, (steps) => {
    last = follow(steps);
    return last;
  });

  async function follow(steps: Iterable<fc.AsyncCommand<Table, act.Driven>>): Promise<void> {
    const driven = await act.openDriven(mongodbUrl);
    try {
      const table = new Table(act.RESOURCES);
      await fc.asyncModelRun(() => ({ model: table, real: driven }), steps);
      await clear(table, driven);
    } finally {
      for (const finish of driven.waiting.values()) finish('done');
      await driven.world.close();
    }
  }

  try {
    await fc.assert(property, {
      numRuns: runs,
      ...(seed !== undefined && { seed }),
      ...(limitMs !== undefined && { interruptAfterTimeLimit: limitMs }),
    });
  } finally {
    await last.catch(() => undefined);
  }
}
