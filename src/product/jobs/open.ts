import type { FastifyInstance } from 'fastify';
import type { Capacity } from '../../platform/concurrency/capacity.ts';
import type { Signatures } from '../../platform/http/signatures.ts';
import type { Slice } from '../../platform/http/slice.ts';
import type { Documents } from '../../platform/stores/documents/port.ts';
import type { Tracing } from '../../platform/tracing/tracing.ts';
import type { Gate } from '../accounts/gate/gate.ts';
import type { UsageSource } from '../billing/usage.ts';
import type { UsageOf } from '../presets/responses.ts';
import type { Providers } from '../providers/open.ts';
import { type JobStores, type JobsContext, openJobStores } from './context.ts';
import type { Perform } from './item-work.ts';
import { Lifecycle } from './lifecycle.ts';
import { JobResults } from './results/results.ts';
import { resultRoutes } from './results/routes.ts';
import { jobRoutes, type SubmitCheck } from './routes.ts';
import { checkSubmit, type JobCheckDependencies } from './submit/checking.ts';
import { jobUsage, presetUsage } from './usage.ts';
import { JobEndWaiters } from './waits.ts';
import { createModelWork } from './work/model.ts';
import { createPageWork, type PageWorkOptions } from './work/page.ts';
import { createPassWork, type PassWorkOptions } from './work/pass.ts';
import { ItemWork } from './work/perform.ts';
import { TypicalSeconds } from './work/typical-seconds.ts';

interface JobsOptions
  extends Omit<JobsContext, keyof JobStores | 'owner' | 'widths' | 'mostItems' | 'onEnd'>,
    JobCheckDependencies,
    PageWorkOptions,
    PassWorkOptions {
  documents: Documents;
  providers: Providers;
  gate: Gate;
  signatures: Signatures;
  tracing: Tracing;
  hostId: string;
  processId: string;
  capacity: Capacity;
}

export interface JobsSlice extends Slice {
  usageSource: UsageSource;
  usageOf: UsageOf;
  /** The median time of an op's items on a model, in whole seconds; undefined while too few are measured. */
  typicalSeconds(op: string, model: string): number | undefined;
}

/** The work on items, each in its own trace. */
function tracedPerform(perform: Perform, tracing: Tracing): Perform {
  if (!tracing.isOn) return perform;
  return (item, job, signals) =>
    tracing.trace('job item', { 'darkroom.job_type': job.type }, () => perform(item, job, signals));
}

/** The most calls that wait for jobs at once on one host. */
const MAX_WAITS_PER_HOST = 1_000;

/**
 * Opens jobs: asynchronous work over many items. README.md in this folder describes the documents and their
 * transitions.
 */
export async function openJobs(options: JobsOptions): Promise<JobsSlice> {
  const { documents, gate, presets, providers, signatures, publicUrl, capacity, draining, fonts, now } =
    options;
  const waits = new JobEndWaiters({
    limit: () => Math.ceil(MAX_WAITS_PER_HOST / capacity.processes()),
    draining,
  });
  const context: JobsContext = {
    ...options,
    ...(await openJobStores(documents, now)),
    owner: `${options.hostId}/${options.processId}`,
    widths: {
      pixels: capacity.imageThreads,
      batches: capacity.imageThreads,
      pages: () => 2 * capacity.renderThreads(),
      models: () => providers.width,
    },
    mostItems: capacity.jobItems,
    onEnd: waits.notify,
  };
  const typicalSeconds = await TypicalSeconds.open(documents);
  const { perform } = new ItemWork(context, {
    runPass: createPassWork(options),
    runPage: createPageWork(options),
    runModel: createModelWork(context, { providers, typicalSeconds }),
  });
  const lifecycle = await Lifecycle.open(context, tracedPerform(perform, options.tracing));
  const { reading } = lifecycle;

  return {
    async routes(app: FastifyInstance) {
      lifecycle.installMetrics();
      const check: SubmitCheck = (caller, sent, isDryRun) => checkSubmit(caller, sent, isDryRun, options);
      await app.register(jobRoutes, { context, lifecycle, gate, presets, check, waits, fonts });
      const results = new JobResults(context);
      await app.register(resultRoutes, { gate, reading, results, signatures, publicUrl, now });
    },
    usageSource: jobUsage(reading),
    usageOf: presetUsage(context.jobs),
    typicalSeconds: typicalSeconds.of,
    sweeps: [...lifecycle.sweeps],
    async stop() {
      await lifecycle.stop();
      await providers.stop();
    },
  };
}
