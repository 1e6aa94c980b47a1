import type { FastifyInstance } from 'fastify';
import type { Capacity } from '../../platform/concurrency/capacity.ts';
import type { Slice } from '../../platform/http/slice.ts';
import type { Documents } from '../../platform/stores/documents/port.ts';
import type { Tracing } from '../../platform/tracing/tracing.ts';
import type { UsageSource } from '../billing/usage.ts';
import type { UsageOf } from '../presets/responses.ts';
import type { Providers } from '../providers/open.ts';
import type { EngineOptions } from './engine/options.ts';
import type { Perform } from './item-work.ts';
import { openJobStores, openLifecycle } from './lifecycle.ts';
import { createResults } from './results/results.ts';
import { type ResultRoutesOptions, resultRoutes } from './results/routes.ts';
import { jobRoutes } from './routes.ts';
import { type CheckingOptions, createChecking } from './submit/checking.ts';
import type { SubmitLimits } from './submit/submitting.ts';
import { jobUsage, presetUsage } from './usage.ts';
import { createWaits } from './waits.ts';
import { createModelWork } from './work/model.ts';
import { createPageWork, type PageWorkOptions } from './work/page.ts';
import { createPassWork, type PassWorkOptions } from './work/pass.ts';
import { createPerform } from './work/perform.ts';
import { openTypicalSeconds } from './work/typical-seconds.ts';

/** The options of the parts of the slice, and what the rest of those are made from. */
interface JobsOptions
  extends Pick<EngineOptions, 'coordination' | 'objects' | 'holds' | 'events' | 'draining' | 'now' | 'log'>,
    Pick<ResultRoutesOptions, 'gate' | 'signatures' | 'publicUrl'>,
    SubmitLimits,
    CheckingOptions,
    PageWorkOptions,
    PassWorkOptions {
  documents: Documents;
  providers: Providers;
  tracing: Tracing;
  hostId: string;
  processId: string;
  capacity: Capacity;
}

export interface Jobs extends Slice {
  usageSource: UsageSource;
  usageOf: UsageOf;
  /** Median time of an op's items on a model, in whole seconds; undefined while too few are known. */
  typicalSeconds(op: string, model: string): number | undefined;
}

/** The work on items, each in a trace of its own. */
function tracedPerform(perform: Perform, tracing: Tracing): Perform {
  if (!tracing.isOn) return perform;
  return (item, job, ...rest) =>
    tracing.trace('job item', { 'darkroom.job_type': job.type }, () => perform(item, job, ...rest));
}

/** Calls that wait for jobs, on one host. */
const WAITS_PER_HOST = 1_000;

/** Asynchronous work over many items; see README.md here for the documents and their transitions. */
export async function openJobs(options: JobsOptions): Promise<Jobs> {
  const { documents, coordination, objects, gate, imageWorkers, renders, assets, presets, templates } =
    options;
  const { answerSchemas, holds, events, providers, models, meters, tracing, plan, countAssets } = options;
  const { signatures, publicUrl, topUpUrl, keptBytesMax, capacity, draining, now, log } = options;
  const waits = createWaits({
    limit: () => Math.ceil(WAITS_PER_HOST / capacity.processes()),
    draining,
  });
  const typicalSeconds = await openTypicalSeconds(documents);
  const stores = await openJobStores(documents, now);
  const { jobs, items, definitions } = stores;
  const perform = createPerform({
    ...{ definitions, items, objects, assets, now, log },
    runPass: createPassWork({ imageWorkers, assets, meters }),
    runPage: createPageWork({ renders, imageWorkers, templates, assets, publicUrl }),
    runModel: createModelWork({ providers, assets, items, typicalSeconds }),
    isStopping: async (jobId) => (await jobs.get(jobId))?.status === 'CANCELLING',
  });
  const lifecycle = await openLifecycle({
    ...{ stores, coordination, objects, assets, holds, events },
    ...{ plan, countAssets, topUpUrl, keptBytesMax, draining, now, log },
    perform: tracedPerform(perform, tracing),
    owner: `${options.hostId}/${options.processId}`,
    widths: {
      pixels: capacity.imageThreads,
      batches: capacity.imageThreads,
      pages: () => 2 * capacity.renderThreads(),
      models: () => providers.width,
    },
    onEnd: waits.notify,
  });
  const { submit, cancel, resuming, reading } = lifecycle;
  const assetsLeft = async (accountId: string, planId: string) =>
    Math.max(0, plan(planId).storedAssets - (await countAssets(accountId)));

  return {
    async routes(app: FastifyInstance) {
      lifecycle.installMetrics();
      const checking = createChecking({ models, presets, templates, assets, answerSchemas });
      await app.register(jobRoutes, {
        ...{ items, definitions, submit, cancel, resuming, reading },
        ...{ gate, presets, checking, waits, holds, assetsLeft },
      });
      const results = createResults({ items, assets });
      await app.register(resultRoutes, { gate, reading, results, signatures, publicUrl, now });
    },
    usageSource: jobUsage(reading),
    usageOf: presetUsage(jobs),
    typicalSeconds: typicalSeconds.of,
    sweeps: lifecycle.sweeps,
    async stop() {
      await lifecycle.stop();
      await providers.stop();
    },
  };
}
