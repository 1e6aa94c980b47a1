import type { FastifyInstance } from 'fastify';
import type { Gate } from '../accounts/gate.ts';
import type { AssetsForJobs } from '../assets/open.ts';
import type { Holds } from '../billing/holds.ts';
import type { UsageSource } from '../billing/usage.ts';
import type { Events } from '../events/open.ts';
import type { Slice } from '../http/slice.ts';
import type { Models } from '../models/models.ts';
import type { Pixels } from '../pixels/pixels.ts';
import type { Renders } from '../pixels/renders.ts';
import type { UsageOf } from '../presets/answers.ts';
import type { Presets } from '../presets/open.ts';
import type { Providers } from '../providers/open.ts';
import type { Coordination } from '../stores/coordination/port.ts';
import type { Documents } from '../stores/documents/port.ts';
import type { Objects } from '../stores/objects/port.ts';
import type { Templates } from '../templates/open.ts';
import { createCancelling } from './cancelling.ts';
import { createJobAdmission } from './engine/admission.ts';
import { createDesk } from './engine/desk.ts';
import { createEnding } from './engine/ending.ts';
import { createJobMetrics } from './engine/metrics.ts';
import { createRunner, type Perform } from './engine/runner.ts';
import { createSettlement } from './engine/settlement.ts';
import { createSignals } from './engine/signals.ts';
import { createJobSweeps } from './engine/sweeps.ts';
import { ItemsStore } from './items-store.ts';
import { createResuming } from './resuming.ts';
import { jobRoutes } from './routes.ts';
import { JobsStore } from './store.ts';
import { createChecking } from './submit/checking.ts';
import { createSubmitting } from './submit/submitting.ts';
import { createUndoing } from './submit/undoing.ts';
import { jobUsage, presetUsage } from './usage.ts';
import { createWaits } from './waits.ts';
import { createDefinitions } from './work/definitions.ts';
import { createModelWork } from './work/model.ts';
import { createPageWork } from './work/page.ts';
import { createPassWork } from './work/pass.ts';
import { createPerform } from './work/perform.ts';
import { TypicalSeconds } from './work/typical-seconds.ts';

export interface JobsOptions {
  documents: Documents;
  coordination: Coordination;
  objects: Objects;
  gate: Gate;
  pixels: Pixels;
  renders: Renders;
  assets: AssetsForJobs;
  presets: Pick<Presets, 'find'>;
  templates: Pick<Templates, 'findForRender'>;
  holds: Holds;
  events: Events;
  providers: Providers;
  models: Models;
  plan: (id: string) => { retentionDays: number; storedAssets: number };
  storedAssets: (accountId: string) => Promise<number>;
  publicUrl: () => string;
  upgradeUrl: () => string;
  hostId: string;
  processId: string;
  threads: { image: number; render: number; processes: number };
  draining: AbortSignal;
  now: () => Date;
  log: { warn(context: object, message: string): void };
  /** The work on an item; a bench of the engine alone brings its own. */
  perform?: Perform;
}

export interface Jobs extends Slice {
  usageSource: UsageSource;
  usageOf: UsageOf;
  /** Median time of an op's items on a model, in whole seconds; undefined while too few are known. */
  typicalSeconds(op: string, model: string): number | undefined;
}

/** Calls that wait for jobs, on one host. */
const WAITS_PER_HOST = 1_000;

/** Asynchronous work over many items; see README.md here for the documents and their transitions. */
export async function openJobs(options: JobsOptions): Promise<Jobs> {
  const { documents, coordination, assets, holds, events, gate, presets, plan, now, log, threads } = options;
  const { draining, storedAssets, upgradeUrl } = options;
  const { places, outputs } = assets;
  const [jobs, items] = await Promise.all([JobsStore.open(documents, now), ItemsStore.open(documents, now)]);
  const definitions = createDefinitions(jobs);
  const waits = createWaits({ limit: Math.ceil(WAITS_PER_HOST / threads.processes), draining });
  const signals = await createSignals(coordination, {
    onWork: (jobId) => runner.wake(jobId),
    onEnd: (jobId) => waits.tell(jobId),
    log,
  });

  const settlement = createSettlement({ jobs, items, events, showOutputs: outputs.show, now });
  const admission = createJobAdmission(jobs, (job) => {
    runner.start(job);
    signals.work(job._id);
  });
  const { startWaiting } = admission;
  const ending = createEnding({
    ...{ jobs, items, settlement, holds, places, events, startWaiting, now },
    deleteObject: (key) => options.objects.delete(key),
    announceEnd: (job) => signals.end(job._id),
  });
  const typicalSeconds = await TypicalSeconds.open(documents);
  const undoing = createUndoing({ jobs, items, holds, places });
  const metrics = createJobMetrics(jobs, () => runner.inHand(), now);

  const perform =
    options.perform ??
    createPerform({
      ...{ definitions, items, assets, now, log },
      objects: options.objects,
      runPass: createPassWork(options),
      runPage: createPageWork(options),
      runModel: createModelWork({ providers: options.providers, assets, items, typicalSeconds }),
      isStopping: async (jobId) => (await jobs.get(jobId))?.status === 'CANCELLING',
    });
  const runner = createRunner({
    owner: `${options.hostId}/${options.processId}`,
    ...{ jobs, items, perform, draining, now, log },
    desk: createDesk({ jobs, items, settlement, ending }),
    discard: outputs.discard,
    widths: { pixels: threads.image, pages: 2 * threads.render, models: options.providers.width },
    metrics: metrics.runner,
  });

  const submit = createSubmitting({
    ...{ jobs, items, holds, places, admission, undoing, plan, storedAssets, upgradeUrl, now },
  });
  const placesLeft = async (accountId: string, planId: string) =>
    Math.max(0, plan(planId).storedAssets - (await storedAssets(accountId)));

  const lookAround = () =>
    runner.lookAround().catch((error: unknown) => log.warn({ err: error }, LOOK_FAILED));
  const looking = setInterval(() => {
    void lookAround();
    void typicalSeconds.refresh().catch(() => undefined);
  }, LOOK_MS);
  looking.unref();
  void lookAround();

  return {
    async routes(app: FastifyInstance) {
      metrics.install();
      await app.register(jobRoutes, {
        ...{ gate, jobs, items, definitions, presets, submit, waits, holds, placesLeft },
        checking: createChecking({ ...options, models: () => options.models }),
        finish: ending.finish,
        cancel: createCancelling({ jobs, ending }),
        resume: createResuming({ jobs, items, definitions, assets, submit }),
      });
    },
    usageSource: jobUsage(jobs),
    usageOf: presetUsage(jobs),
    typicalSeconds: (op, model) => typicalSeconds.of(op, model),
    sweeps: createJobSweeps({
      ...{ jobs, items, settlement, ending, admission, undoing, assets },
      objects: options.objects,
      announceWork: signals.work,
      onExpiredLease: metrics.leaseExpired,
    }),
    async stop() {
      clearInterval(looking);
      await runner.stop();
      await options.providers.stop();
      signals.close();
    },
  };
}

/** How often a process looks at the running jobs by itself: messages may be lost. */
const LOOK_MS = 15_000;
const LOOK_FAILED = 'The running jobs were not looked at; the next look finds them';
