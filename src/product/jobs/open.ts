import type { FastifyInstance } from 'fastify';
import type { Pixels } from '../../imaging/pixels/pixels.ts';
import type { Renders } from '../../imaging/renders/renders.ts';
import type { Capacity } from '../../platform/capacity/capacity.ts';
import type { Signatures } from '../../platform/http/signatures.ts';
import type { Slice } from '../../platform/http/slice.ts';
import type { OpMeter } from '../../platform/metrics/ops.ts';
import type { Coordination } from '../../platform/stores/coordination/port.ts';
import type { Documents } from '../../platform/stores/documents/port.ts';
import type { Objects } from '../../platform/stores/objects/port.ts';
import type { Log } from '../../platform/tracing/log.ts';
import type { Tracing } from '../../platform/tracing/tracing.ts';
import type { Gate } from '../accounts/gate/gate.ts';
import type { AssetsForJobs } from '../assets/open.ts';
import type { Holds } from '../billing/holds.ts';
import type { UsageSource } from '../billing/usage.ts';
import type { Events } from '../events/open.ts';
import type { Models } from '../models/models.ts';
import type { UsageOf } from '../presets/answers.ts';
import type { Presets } from '../presets/open.ts';
import type { AnswerSchemas } from '../providers/answer-schemas.ts';
import type { Providers } from '../providers/open.ts';
import type { Templates } from '../templates/open.ts';
import type { Perform } from './item-work.ts';
import { openJobStores, openLifecycle } from './lifecycle.ts';
import { createResults } from './results/results.ts';
import { resultRoutes } from './results/routes.ts';
import { jobRoutes } from './routes.ts';
import { createChecking } from './submit/checking.ts';
import { jobUsage, presetUsage } from './usage.ts';
import { createWaits } from './waits.ts';
import { createModelWork } from './work/model.ts';
import { createPageWork } from './work/page.ts';
import { createPassWork } from './work/pass.ts';
import { createPerform } from './work/perform.ts';
import { TypicalSeconds } from './work/typical-seconds.ts';

interface JobsOptions {
  documents: Documents;
  coordination: Coordination;
  objects: Objects;
  gate: Gate;
  pixels: Pixels;
  renders: Renders;
  assets: AssetsForJobs;
  presets: Pick<Presets, 'find'>;
  answerSchemas: AnswerSchemas;
  templates: Pick<Templates, 'findForRender'>;
  holds: Holds;
  events: Events;
  providers: Providers;
  models: Models;
  meters: { ops: OpMeter };
  tracing: Tracing;
  plan: (id: string) => { retentionDays: number; storedAssets: number };
  storedAssets: (accountId: string) => Promise<number>;
  /** Bytes of requests that the jobs of one account may keep. */
  keptBytesMax: number;
  signatures: Signatures;
  publicUrl: () => string;
  upgradeUrl: () => string;
  hostId: string;
  processId: string;
  capacity: Capacity;
  draining: AbortSignal;
  now: () => Date;
  log: Log;
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
  const { documents, assets, holds, gate, presets, plan, capacity, storedAssets } = options;
  const waits = createWaits({
    limit: () => Math.ceil(WAITS_PER_HOST / capacity.processes()),
    draining: options.draining,
  });
  const typicalSeconds = await TypicalSeconds.open(documents);
  const stores = await openJobStores(documents, options.now);
  const { jobs, items, definitions } = stores;
  const perform = createPerform({
    ...{ definitions, items, assets },
    objects: options.objects,
    runPass: createPassWork(options),
    runPage: createPageWork(options),
    runModel: createModelWork({ providers: options.providers, assets, items, typicalSeconds }),
    isStopping: async (jobId) => (await jobs.get(jobId))?.status === 'CANCELLING',
    now: options.now,
    log: options.log,
  });
  const lifecycle = await openLifecycle({
    ...options,
    stores,
    perform: tracedPerform(perform, options.tracing),
    owner: `${options.hostId}/${options.processId}`,
    widths: {
      pixels: capacity.imageThreads,
      batches: capacity.imageThreads,
      pages: () => 2 * capacity.renderThreads(),
      models: () => options.providers.width,
    },
    onEnd: waits.notify,
  });
  const { submit, cancel, resuming, reading } = lifecycle;
  const assetsLeft = async (accountId: string, planId: string) =>
    Math.max(0, plan(planId).storedAssets - (await storedAssets(accountId)));

  return {
    async routes(app: FastifyInstance) {
      lifecycle.installMetrics();
      const checking = createChecking({ ...options, models: () => options.models });
      await app.register(jobRoutes, {
        ...{ items, definitions, submit, cancel, resuming, reading },
        ...{ gate, presets, checking, waits, holds, assetsLeft },
      });
      const results = createResults({ items, assets });
      await app.register(resultRoutes, { ...options, reading, results });
    },
    usageSource: jobUsage(reading),
    usageOf: presetUsage(jobs),
    typicalSeconds: (op, model) => typicalSeconds.of(op, model),
    sweeps: lifecycle.sweeps,
    async stop() {
      await lifecycle.stop();
      await options.providers.stop();
    },
  };
}
