import { ApiError } from '../../src/platform/http/errors/errors.ts';
import type { Caller } from '../../src/product/accounts/authentication.ts';
import { seededRandom } from '../../workers/models/random.ts';
import { type Failpoint, POINTS } from './failpoints.ts';
import { brokenPromises, jobsOf, quiet, recover } from './invariants.ts';
import { type Fate, orderOf } from './script.ts';
import { type Host, openWorld, type World } from './world.ts';

const GRANTED = 60;
/** A round takes a tenth of a second, and some seconds on a busy machine. One that takes longer hangs. */
const MAX_ROUND_MS = 120_000;
const FATES: readonly Fate[] = ['done', 'done', 'done', 'refused', 'twice', 'ours'];
const ACTS = ['submit', 'submit', 'cancel', 'resume', 'rest', 'elapse'] as const;

/**
 * One round: processes that die at random steps, calls at random moments between, wake-ups that are lost; then a
 * process that lives, and time.
 * @param point where the first of them dies; one of POINTS.
 * @returns every broken promise.
 */
export async function round(seed: number, point: string, mongodbUrl?: string): Promise<string[]> {
  const random = seededRandom(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const world = await openWorld({ mongodbUrl, losesSignal: () => random() < 0.3 });
  let step = 'start of the hosts';
  async function life(): Promise<string[]> {
    const caller = await world.account(GRANTED);
    const hosts = [
      await world.start({
        point,
        occurrence: 1 + Math.floor(random() * 3),
        moment: pick(['before', 'after']),
      }),
      await world.start(random() < 0.5 ? someFailpoint(pick) : null),
    ];
    for (let count = 0; count < 6; count += 1) {
      const what = pick(ACTS);
      step = `act ${count}, ${what}`;
      await act(what, pick(hosts), { world, caller, pick });
    }
    for (const { lifecycle, life, ...host } of hosts) {
      step = `rest of ${host.owner}`;
      const rest = async () => {
        await lifecycle.pollJobs();
        await quiet(world, { lifecycle, life, ...host });
      };
      if (!life.isDead) await Promise.race([rest(), life.died]);
    }
    step = 'recovery';
    await recover(world, await world.start(null));
    step = 'check of the promises';
    return await brokenPromises(world, caller, GRANTED);
  }
  async function lifeAndClose(): Promise<string[]> {
    try {
      return await life();
    } finally {
      step = `close after the ${step}`;
      await world.close();
    }
  }
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`The round hangs in the ${step}.`)), MAX_ROUND_MS);
  try {
    return await Promise.race([lifeAndClose(), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

type Pick = <T>(from: readonly T[]) => T;

function someFailpoint(pick: Pick): Failpoint {
  return { point: pick(Object.keys(POINTS)), occurrence: pick([1, 2, 3]), moment: pick(['before', 'after']) };
}

/** One call, or some time. A host that died answers nothing, and its caller goes on. */
async function act(
  what: (typeof ACTS)[number],
  host: Host,
  { world, caller, pick }: { world: World; caller: Caller; pick: Pick },
): Promise<void> {
  if (host.life.isDead) return;
  const { lifecycle, life } = host;
  const job = pick([...(await jobsOf(world)), undefined]);
  const acts: Record<typeof what, () => Promise<unknown>> = {
    submit: () =>
      lifecycle.submit(caller, orderOf(Array.from({ length: pick([1, 4, 9]) }, () => pick(FATES)))),
    cancel: async () => job && lifecycle.cancel(caller.accountId, job._id),
    resume: async () => job && lifecycle.resuming.resume(caller, job._id, { key: null }),
    async rest() {
      await lifecycle.pollJobs();
      await quiet(world, host);
    },
    elapse: async () => world.elapse(pick([500, 3_000])),
  };
  const refused = (error: unknown) => {
    if (!(error instanceof ApiError)) throw error;
  };
  await Promise.race([acts[what]().catch(refused), life.died]);
}
