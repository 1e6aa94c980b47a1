import type { AssetDocument } from '../../src/product/assets/asset.ts';
import type { JobAssets } from '../../src/product/assets/open.ts';
import type { EndedJob, ItemDocument, JobDocument } from '../../src/product/jobs/job.ts';
import type { ModelSegment, PassSegment, PlanSegment } from '../../src/product/jobs/plan.ts';
import type { JobOrder } from '../../src/product/jobs/submit/order.ts';
import {
  type ItemCall,
  ItemFailureError,
  ItemPerformer,
  type ReadInput,
  type SegmentResult,
} from '../../src/product/jobs/work/perform.ts';
import {
  failsAt,
  type KnownStep,
  owed,
  randomFrom,
  randomSteps,
  segmentsOf,
} from '../product/jobs/chain-runs.ts';
import { all, brokenPromises, itemsOf, jobsOf, recover } from './invariants.ts';
import type { Tools, Work } from './script.ts';
import { type Host, openWorld, type World } from './world.ts';

const GRANTED = 5_000;
const MAX_ITEMS = 6;
const POLLS = 1_000;
/** Sweeps that a job needs to end. */
const NEEDED_SWEEPS = ['leases of items', 'retries of items', 'settlements of items', 'ended jobs'];

/** When a process dies in the work of a segment: before it; when its answer is there; when its output is stored. */
export const MOMENTS = ['asked', 'answered', 'kept'] as const;

export interface ChainDeath {
  segment: number;
  moment: (typeof MOMENTS)[number];
  /** Of which item, by its index. */
  item: number;
}

export interface ChainRound {
  segments: KnownStep[][];
  items: number;
  /** Processes that die, one after the other. */
  deaths: ChainDeath[];
  mongodbUrl?: string | undefined;
}

const ai = (op: string): KnownStep => ({ body: { op }, credits: 12, rejects: [] });
const pass = (op: string): KnownStep => ({ body: { op }, credits: 0, rejects: [] });

/** Chains as presets have them. */
export const PRESETS: Record<string, KnownStep[][]> = {
  'resize, edit, convert': segmentsOf([pass('resize'), ai('edit'), pass('convert')]),
  'remove_background, crop, edit': segmentsOf([ai('remove_background'), pass('crop'), ai('edit')]),
};

/** A chain of random steps, and processes that die at random in it. */
export function randomRound(seed: number, mongodbUrl?: string): ChainRound {
  const random = randomFrom(seed);
  const items = 1 + random(MAX_ITEMS);
  const segments = segmentsOf(randomSteps(random, items));
  const death = (): ChainDeath => ({
    segment: random(segments.length),
    moment: MOMENTS[random(MOMENTS.length)] as ChainDeath['moment'],
    item: random(items),
  });
  return { segments, items, deaths: Array.from({ length: 1 + random(3) }, death), mongodbUrl };
}

/**
 * Runs a chain in processes that die, one after the other, and lets one that lives finish and resume it. Each segment
 * adds its number to the picture, so that an output shows which ran, and how often.
 * @returns every broken promise, and every job with another cost than its prompts lead to.
 */
export async function chainRound({ segments, items, deaths, mongodbUrl }: ChainRound): Promise<string[]> {
  const world = await openWorld({ mongodbUrl });
  try {
    const caller = await world.account(GRANTED);
    let submitter: Host | null = null;
    for (const death of deaths) {
      const dying = await world.start(null, walking(world, segments, death));
      if (submitter === null)
        void dying.lifecycle.submit(caller, orderOf(segments, items)).catch(() => undefined);
      submitter ??= dying;
      await Promise.race([dying.life.died, atRest(world, dying, submitter)]);
      if (!dying.life.isDead) await dying.stop();
      world.elapse(31_000);
    }
    const survivor = await world.start(null, walking(world, segments));
    await recover(world, survivor);
    const [job] = await jobsOf(world);
    if (job?.status === 'FAILED') {
      await survivor.lifecycle.resuming.resume(caller, job._id, { key: null });
      await recover(world, survivor);
    }
    return [
      ...(await brokenPromises(world, caller, GRANTED)),
      ...(await wrongPrices(world, segments)),
      ...(await wrongOutputs(world, segments)),
    ];
  } finally {
    await world.close();
  }
}

/**
 * Until the job has ended, or there is none and there will be none: some deaths are never reached. A process may die in
 * the first segment before it has accepted the job, for the only item of a job is worked on at the same time.
 */
async function atRest(world: World, host: Host, submitter: Host): Promise<void> {
  for (let poll = 0; poll < POLLS; poll += 1) {
    await host.lifecycle.pollJobs();
    for (const { name, sweep } of host.lifecycle.sweeps)
      if (NEEDED_SWEEPS.includes(name)) await sweep(world.now());
    const [job] = await jobsOf(world);
    if (job?.phase === 'done') return;
    if (submitter.life.isDead && (job === undefined || job.phase === 'hidden')) return;
    world.elapse(500);
    await new Promise((wait) => setTimeout(wait, 5));
  }
  throw new Error(`The job stands still: ${JSON.stringify([await jobsOf(world), await itemsOf(world)])}`);
}

/** The real walk through the segments of an item, over passes and models that answer at once. */
export function walking({ now }: World, segments: readonly KnownStep[][], death?: ChainDeath): Work {
  return ({ jobs, items, definitions, objects, make, life }: Tools) => {
    async function dieIf(
      moment: ChainDeath['moment'],
      item: number | undefined,
      segment: number | undefined,
    ) {
      const isNow = moment === death?.moment && item === death.item && segment === death.segment;
      if (life.isDead || isNow) await life.die();
    }

    async function work(
      { item }: ItemCall,
      { index }: PlanSegment,
      input: ReadInput,
    ): Promise<SegmentResult> {
      await dieIf('asked', item.index, index);
      const bytes = (await input()) ?? new Uint8Array();
      refuse(segments[index]?.[0], item);
      await dieIf('answered', item.index, index);
      return { kind: 'image', bytes: new Uint8Array([...bytes, index]), contentType: 'image/png' };
    }

    const context = {
      ...{ jobs, definitions, items, now, log: { warn: () => undefined } },
      fonts: { findWarnings: async () => [] },
      assets: {
        reader: {
          read: async (_accountId: string, assetId: string) => ({ bytes: new Uint8Array([Number(assetId)]) }),
        },
        outputs: {
          async make(...[labels, bytes, signal]: Parameters<Tools['make']>) {
            const asset = await make(labels, bytes, signal);
            await dieIf('kept', bytes[0], bytes.at(-1));
            return asset;
          },
        },
      } as unknown as JobAssets,
      objects: {
        read: (key: string, limit: number) => objects.read(key, limit),
        delete: (key: string) => objects.delete(key),
        async put(key: string, bytes: Uint8Array, type: string) {
          const stored = await objects.put(key, bytes, type);
          await dieIf('kept', bytes[0], bytes.at(-1));
          return stored;
        },
      } as Tools['objects'],
    };
    const { perform } = new ItemPerformer(context, {
      runPass: (call: ItemCall, segment: PassSegment, bytes) => work(call, segment, async () => bytes),
      runModel: (call: ItemCall, segment: ModelSegment, input) => work(call, segment, input),
      runPage: () => Promise.reject(new Error('A chain has no pages.')),
    });
    return perform;
  };
}

/** Fails an item where the directives of its prompt ask for it. */
function refuse(step: KnownStep | undefined, { index, tries }: ItemDocument): void {
  const isPutOff = step?.body.prompt?.includes('[sandbox:fail=1]') && tries === 0;
  if (isPutOff)
    throw new ItemFailureError({ code: 'provider_unavailable', message: 'Not now.', mayPass: true });
  if (step?.rejects.includes(index))
    throw new ItemFailureError({ code: 'provider_rejected', message: 'It is refused.', mayPass: false });
}

/** A job of items that go through these segments. */
export function orderOf(segments: readonly KnownStep[][], total: number): JobOrder {
  const credits = segments.map(([step]) => step?.credits ?? 0);
  const planned = credits.map((price, index) => {
    if (price === 0)
      return { runs: 'pass', index, stepIndexes: [], pipeline: [], layers: [], produces: 'image' };
    const model = { op: 'edit', jobType: 'ai-edit', model: 'some', parameters: {} };
    return { runs: 'model', index, stepIndexes: [], ...model, produces: 'image' };
  }) as unknown as PlanSegment[];
  const runs = credits.filter((price) => price === 0).length;
  const sum = credits.reduce((total, price) => total + price, 0);
  return {
    head: {
      ...{ type: 'chain', op: null, model: null, collection: null },
      ...{ presetId: null, presetName: 'Ad-hoc', presetVersion: null },
    },
    definition: {
      ...{ takes: 'assets', produces: 'image', count: 1, subjects: [], references: [] },
      variants: [{ parameters: {}, segments: planned, credits }],
    },
    totalItems: total,
    need: { runs: runs * total, credits: sum * total },
    maxOutputs: total,
    iterateItems: () => Array.from({ length: total }, (_, index) => ({ assetId: String(index), variant: 0 })),
    warnings: [],
  };
}

/** An item with the segment that it began with, and the first byte of its picture. */
interface Walked {
  item: ItemDocument;
  from: number;
  first: number;
}

/** The items of every job. Those of a resume are what its parent left, in order, from where each of them stood. */
async function walkedItems(world: World): Promise<Array<{ job: JobDocument; walked: Walked[] }>> {
  const items = await itemsOf(world);
  const jobs = (await jobsOf(world)).sort((a, b) => a.attemptNumber - b.attemptNumber);
  const byJob = new Map<string, Walked[]>();
  return jobs.map((job) => {
    const left = (byJob.get(job.parentJobId ?? '') ?? []).filter(({ item }) => item.status !== 'COMPLETED');
    const own = items.filter(({ jobId }) => jobId === job._id).sort((a, b) => a.index - b.index);
    const walked = own.map((item): Walked => {
      const before = left[item.index];
      return before === undefined
        ? { item, from: 0, first: item.index }
        : { item, from: before.item.progress?.segment ?? 0, first: before.first };
    });
    byJob.set(job._id, walked);
    return { job, walked };
  });
}

/** Each job costs the models' segments that its items finished in it. */
async function wrongPrices(world: World, segments: KnownStep[][]): Promise<string[]> {
  return (await walkedItems(world)).flatMap(({ job, walked }) => {
    const prices = walked.map(({ item: { index, status, progress, outcome }, from }) => {
      if (status === 'COMPLETED') return owed(segments, from, undefined);
      // The prompt decides where an item is refused; an item whose processes died stopped at its last kept output.
      const isRefused = outcome?.errorCode === 'provider_rejected';
      return owed(segments, from, isRefused ? failsAt(segments, index, from) : (progress?.segment ?? 0));
    });
    const sum = prices.reduce((total, price) => total + price, 0);
    const { actualCredits } = job as EndedJob;
    return sum === actualCredits ? [] : [`${job._id} cost ${actualCredits} credits instead of ${sum}`];
  });
}

/** The output of a completed item went through each segment once, in order; and nothing is left between segments. */
async function wrongOutputs(world: World, segments: KnownStep[][]): Promise<string[]> {
  const wrong: string[] = [];
  const assets = await all<AssetDocument>(world, 'assets');
  for (const { walked } of await walkedItems(world)) {
    for (const { item, first } of walked.filter(({ item }) => item.status === 'COMPLETED')) {
      const { objectKey } = assets.find(({ _id }) => _id === item.outcome?.resultAssetId) ?? {};
      const made = Array.from((await world.objects.read(objectKey ?? 'none', 100)) ?? []);
      const expected = [first, ...segments.keys()];
      if (String(made) !== String(expected))
        wrong.push(`${item._id} went through ${made} instead of ${expected}`);
    }
  }
  return wrong;
}
