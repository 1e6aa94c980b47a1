import type { FastifyInstance } from 'fastify';
import type { LinkSigner } from '../../platform/http/signatures.ts';
import type { ProductSlice } from '../../platform/http/slice.ts';
import type { ProcessParts } from '../../platform/process-parts.ts';
import type { Tracing } from '../../platform/tracing/tracing.ts';
import type { CallGate } from '../accounts/gate/gate.ts';
import { AccountLinks } from '../assets/content/links.ts';
import type { UsageSource } from '../billing/usage.ts';
import type { ReadPresetUsage } from '../presets/reading.ts';
import type { Providers } from '../providers/open.ts';
import { type JobStores, type JobsContext, jobStoresOf } from './context.ts';
import { JobLifecycle } from './lifecycle.ts';
import { JobResults, resultRoutes } from './results.ts';
import { jobRoutes } from './routes.ts';
import type { JobCheckDependencies } from './submit/checking.ts';
import { JobEndWaiters } from './waits.ts';
import { createModelWork, TypicalItemSeconds } from './work/model.ts';
import { createPageWork, type PageWorkOptions } from './work/page.ts';
import { createPassWork, type PassWorkOptions } from './work/pass.ts';
import { ItemPerformer } from './work/perform.ts';

interface JobsOptions
  extends Omit<JobsContext, keyof JobStores | 'owner' | 'concurrency' | 'maxClaimedItems' | 'onEnd'>,
    Pick<ProcessParts, 'documents' | 'hostId' | 'processId' | 'capacity'>,
    JobCheckDependencies,
    PageWorkOptions,
    PassWorkOptions {
  providers: Providers;
  gate: CallGate;
  signatures: LinkSigner;
  tracing: Tracing;
}

export interface JobsSlice extends ProductSlice {
  usageSource: UsageSource;
  readPresetUsage: ReadPresetUsage;
  /** The median time of an item by op and model, in whole seconds; undefined while too few items were measured. */
  typicalSecondsOf(op: string, model: string): number | undefined;
}

/** The maximum number of calls that may wait for jobs on one host at the same time. */
const MAX_WAITS_PER_HOST = 1_000;

/**
 * Opens the jobs slice: asynchronous work over many items. README.md in this folder describes the documents and their
 * transitions.
 */
export async function openJobs(options: JobsOptions): Promise<JobsSlice> {
  const { documents, providers, capacity, tracing, draining, now } = options;
  const waits = new JobEndWaiters({
    limit: () => Math.ceil(MAX_WAITS_PER_HOST / capacity.processes()),
    draining,
  });
  const context: JobsContext = {
    ...options,
    ...jobStoresOf(documents, now),
    owner: `${options.hostId}/${options.processId}`,
    concurrency: {
      pixels: capacity.imageThreads,
      batches: capacity.imageThreads,
      pages: () => 2 * capacity.renderThreads(),
      models: () => providers.capacity,
    },
    maxClaimedItems: capacity.jobItems,
    onEnd: waits.endWaits,
  };
  const typicalItemSeconds = await TypicalItemSeconds.open(documents);
  const { perform } = new ItemPerformer(context, {
    runPass: createPassWork(options),
    runPage: createPageWork(options),
    runModel: createModelWork(context, { providers, typicalItemSeconds }),
  });
  // Each item has its own trace.
  const lifecycle = await JobLifecycle.open(context, (item, job, signals) =>
    tracing.trace('job item', { 'darkroom.job_type': job.type }, () => perform(item, job, signals)),
  );
  const { reading } = lifecycle;

  return {
    async routes(app: FastifyInstance) {
      lifecycle.metrics.register();
      await app.register(jobRoutes, { ...options, context, lifecycle, waits });
      const links = new AccountLinks(options.signatures, options.publicUrl, now);
      await app.register(resultRoutes, { ...options, reading, links, results: new JobResults(context) });
    },
    usageSource: reading.readUsage,
    readPresetUsage: reading.readPresetUsage,
    typicalSecondsOf: typicalItemSeconds.secondsOf,
    sweeps: [...lifecycle.sweeps],
    async stop() {
      await lifecycle.stop();
      await providers.stop();
    },
  };
}
