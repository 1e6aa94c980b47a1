import { ApiError } from '../../src/platform/http/errors/errors.ts';
import { seededRandom } from '../../workers/models/random.ts';
import { brokenPromises, ended, itemsOf, jobsOf, recover } from './invariants.ts';
import { type Fate, orderOf, performing, type Script, scripted } from './script.ts';
import { openWorld } from './world.ts';

const GRANTED = 60;
const FATES: readonly Fate[] = ['done', 'done', 'refused', 'twice'];
/** A job of this size takes about MOST_TURNS turns of the event loop. */
const MAX_ITEMS = 12;
const MAX_TURNS = 120;

/**
 * Cancels a job at a random moment of its life, from its submit to behind its end, and compares the result with
 * the table: items that were not handed out are CANCELLED, running ones have finished, and a job that had ended is
 * unchanged.
 * @returns every broken promise.
 */
export async function cancelRound(seed: number, mongodbUrl?: string): Promise<string[]> {
  const random = seededRandom(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const world = await openWorld({ mongodbUrl });
  try {
    const caller = await world.account(GRANTED);
    const perform = performing(world.now);
    const handedOut = new Set<number>();
    const script: Script = async (call) => {
      handedOut.add(call.item.index);
      await loopTurns(Math.floor(random() * 8));
      return perform(call);
    };
    const host = await world.start(null, scripted(script));
    const fates = Array.from({ length: 1 + Math.floor(random() * MAX_ITEMS) }, () => pick(FATES));
    const { job } = await host.lifecycle.submit(caller, orderOf(fates));
    await loopTurns(Math.floor(random() * MAX_TURNS));
    const answer = await host.lifecycle.cancel(caller.accountId, job._id).catch((error: unknown) => {
      if (error instanceof ApiError) return error;
      throw error;
    });
    await recover(world, host);
    await ended(world);
    return [
      ...(await cancelErrors(world, answer instanceof ApiError ? answer : answer.status, handedOut)),
      ...(await brokenPromises(world, caller, GRANTED)),
    ];
  } finally {
    await world.close();
  }
}

async function cancelErrors(
  world: Parameters<typeof jobsOf>[0],
  answer: ApiError | string,
  handedOut: ReadonlySet<number>,
): Promise<string[]> {
  const [job] = await jobsOf(world);
  const cancelled = (await itemsOf(world)).filter(({ status }) => status === 'CANCELLED');
  const broken: string[] = [];
  if (answer instanceof ApiError) {
    const { status } = (answer.details ?? {}) as { status?: string };
    if (answer.code !== 'invalid_state' || status !== job?.status)
      broken.push(`a cancel of a job that is ${job?.status} was refused with ${answer.code} (${status})`);
    if (cancelled.length > 0) broken.push(`${cancelled.length} items are cancelled by a refused cancel`);
    return broken;
  }
  if (answer !== 'CANCELLING' && answer !== 'CANCELLED') broken.push(`a cancel answered ${answer}`);
  if (job?.status !== 'CANCELLED') broken.push(`a cancelled job is ${job?.status}`);
  for (const { index, tries } of cancelled)
    if (handedOut.has(index) && tries === 0) broken.push(`item ${index} was cancelled while it ran`);
  return broken;
}

/** Lets a number of turns of the event loop pass. */
async function loopTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((next) => setImmediate(next));
}
