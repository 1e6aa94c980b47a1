import type { ImageWorkers } from '../../src/imaging/images/image-workers.ts';
import type { ObjectStore } from '../../src/platform/stores/objects/port.ts';
import type { JobOutputs } from '../../src/product/assets/uploads/outputs.ts';
import type { JobDefinitions } from '../../src/product/jobs/definitions.ts';
import type { ItemsStore } from '../../src/product/jobs/items-store.ts';
import type { ClaimedItem, JobDocument } from '../../src/product/jobs/job.ts';
import type { PassSegment } from '../../src/product/jobs/plan.ts';
import { type ItemWorkResult, itemTimesOf, type PerformItemWork } from '../../src/product/jobs/rules.ts';
import type { JobsStore } from '../../src/product/jobs/store.ts';
import type { JobOrder } from '../../src/product/jobs/submit/order.ts';
import type { Life } from './failpoints.ts';

/** The end of an item: done; refused for good; refused twice and then done; refused for as long as it is tried. */
export type Fate = 'done' | 'refused' | 'twice' | 'ours';

export interface ScriptCall {
  item: ClaimedItem;
  job: JobDocument;
  signal: AbortSignal;
  make: JobOutputs['make'];
}

/** The work on an item, without pixels. */
export type Script = (call: ScriptCall) => Promise<ItemWorkResult>;

/** The dependencies of the work of a process. */
export interface Tools {
  jobs: JobsStore;
  items: ItemsStore;
  definitions: JobDefinitions;
  objects: ObjectStore;
  make: JobOutputs['make'];
  life: Life;
}

/** The work of a process. */
export type Work = (tools: Tools) => PerformItemWork;

export function scripted(script: Script): Work {
  return ({ make }) =>
    (item, job, { signal }) =>
      script({ item, job, signal, make });
}

/** Ends an item as its row describes. */
export function performing(now: () => Date): Script {
  return async ({ item, job, signal, make }) => {
    const fate = JSON.parse(item.row ?? '"done"') as Fate;
    if (fate === 'refused') {
      const usage = { runs: 1, credits: 0 };
      return { failure: { code: 'invalid_param', message: 'It is refused.', mayPass: false, usage } };
    }
    if (fate === 'ours' || (fate === 'twice' && item.tries < 2)) {
      const usage = { runs: 0, credits: 0 };
      return { failure: { code: 'provider_unavailable', message: 'Not now.', mayPass: true, usage } };
    }
    const { collection, expiresAt, _id: jobId, accountId } = job;
    const labels = { accountId, jobId, itemIndex: item.index, collection, expiresAt };
    const asset = await make(labels, new Uint8Array([1, 2, item.index]), signal);
    const outcome = { status: 'COMPLETED', resultAssetId: asset._id, runs: 1, credits: 0 } as const;
    return { outcome: { ...outcome, ...itemTimesOf(item, now()) } };
  };
}

/** Pixels that describe every picture alike. */
export const BLIND = {
  describe: () => ({
    result: Promise.resolve({ image: { format: 'png', bytes: 3 }, metadata: {} }),
    ended: Promise.resolve(),
  }),
} as unknown as ImageWorkers;

/** The segment of an item: it is not run, but it is a run to hold and to pay. */
const ONE_PASS = { runs: 'pass', index: 0 } as PassSegment;

/** A job whose items have these fates. */
export function orderOf(fates: readonly Fate[]): JobOrder {
  const total = fates.length;
  return {
    head: {
      ...{ type: 'process', op: 'resize', model: null, collection: 'made' },
      ...{ presetId: null, presetName: 'op:resize', presetVersion: null },
    },
    definition: {
      ...{ takes: 'rows', produces: 'image', count: 1, subjects: [], references: [] },
      variants: [{ parameters: {}, segments: [ONE_PASS], credits: [0] }],
    },
    totalItems: total,
    need: { runs: total, credits: 0 },
    maxOutputs: total,
    iterateItems: () => fates.map((fate) => ({ assetId: null, variant: 0, row: JSON.stringify(fate) })),
    warnings: [],
  };
}
