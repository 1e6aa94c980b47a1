import type { AssetsForJobs } from '../../assets/open.ts';
import type { Holds } from '../../billing/holds.ts';
import type { Events } from '../../events/open.ts';
import type { Coordination } from '../../stores/coordination/port.ts';
import type { Documents } from '../../stores/documents/port.ts';
import type { Objects } from '../../stores/objects/port.ts';
import type { SweepTask } from '../../sweeping/sweeper.ts';
import { type Cancelling, createCancelling } from '../cancelling.ts';
import { ItemsStore } from '../items-store.ts';
import type { JobDocument } from '../job.ts';
import { createReading, type Reading } from '../reading.ts';
import { createResuming, type Resuming } from '../resuming.ts';
import { JobsStore } from '../store.ts';
import { createSubmitting, type Submitting } from '../submit/submitting.ts';
import { createUndoing } from '../submit/undoing.ts';
import { createDefinitions, type Definitions } from '../work/definitions.ts';
import { createJobAdmission } from './admission.ts';
import { createDesk } from './desk.ts';
import { createEnding } from './ending.ts';
import type { Perform } from './item-work.ts';
import { createJobMetrics } from './metrics.ts';
import type { WorkKind } from './prefetch.ts';
import { createRunner, type Runner } from './runner.ts';
import { createSettlement } from './settlement.ts';
import { createSignals } from './signals.ts';
import { createJobSweeps } from './sweeps.ts';
import { createVerdicts } from './verdicts.ts';

export interface EngineOptions {
  documents: Documents;
  coordination: Coordination;
  objects: Objects;
  assets: AssetsForJobs;
  holds: Holds;
  events: Events;
  plan: (id: string) => { retentionDays: number; storedAssets: number };
  storedAssets: (accountId: string) => Promise<number>;
  upgradeUrl: () => string;
  /** What the jobs of one account may keep of what was sent for them. */
  keptBytesMax: number;
  /** Names this process among all that share the stores. */
  owner: string;
  /** Items that this process can work on at once. */
  widths: Record<WorkKind, () => number>;
  /** The work on an item, with what it reads and notes. */
  performOver: (stores: { jobs: JobsStore; items: ItemsStore; definitions: Definitions }) => Perform;
  /** Called when a job has ended, in whichever process; with the job where that was this one. */
  onEnd: (jobId: string, job?: JobDocument) => void;
  draining: AbortSignal;
  now: () => Date;
  log: { warn(context: object, message: string): void };
}

export interface Engine {
  jobs: JobsStore;
  items: ItemsStore;
  definitions: Definitions;
  submit: Submitting;
  cancel: Cancelling;
  resuming: Resuming;
  reading: Reading;
  /** Looks at every running job, for wake-ups that were lost. */
  lookAround: Runner['lookAround'];
  sweeps: SweepTask[];
  installMetrics(): void;
  stop(): Promise<void>;
}

/** How often a process looks at the running jobs by itself: messages may be lost. */
const LOOK_MS = 15_000;

/** Everything that makes jobs move, without the interface. One in every process that shares the stores. */
export async function openEngine(options: EngineOptions): Promise<Engine> {
  const { documents, objects, assets, holds, events, plan, storedAssets, upgradeUrl } = options;
  const { draining, now, log } = options;
  const { quota, outputs } = assets;
  const [jobs, items] = await Promise.all([JobsStore.open(documents, now), ItemsStore.open(documents, now)]);
  const definitions = createDefinitions(jobs);
  const signals = createSignals(options.coordination, log);
  const metrics = createJobMetrics(jobs, () => runner.inHand(), now);

  const verdicts = createVerdicts({ items, events, now });
  const settlement = createSettlement({ jobs, items, events, verdicts, showOutputs: outputs.show, now });
  const admission = createJobAdmission(jobs, (job) => {
    if (!runner.start(job)) signals.work(job._id);
  });
  const ending = createEnding({
    ...{ jobs, items, settlement, verdicts, holds, quota, events },
    startWaiting: admission.startWaiting,
    deleteObject: (key) => objects.delete(key),
    tellHere: (job) => options.onEnd(job._id, job),
    tellOthers: (job) => signals.end(job._id),
  });
  const reading = createReading({ jobs, settlement, finish: ending.finish });
  const runner = createRunner({
    ...{ jobs, items, draining, now, log },
    owner: options.owner,
    perform: options.performOver({ jobs, items, definitions }),
    desk: createDesk({ jobs, items, settlement, ending }),
    discard: outputs.discard,
    widths: options.widths,
    metrics: metrics.runner,
  });
  const undoing = createUndoing({ jobs, items, holds, quota });
  const submit = createSubmitting({
    ...{ jobs, items, holds, quota, definitions, admission, undoing },
    ...{ plan, storedAssets, upgradeUrl, now },
    keptBytesMax: options.keptBytesMax,
    claimEarly: runner.claimEarly,
  });

  const stopClaims = (jobId: string) => {
    runner.leave(jobId);
    signals.stop(jobId);
  };
  const look = () => {
    runner
      .lookAround()
      .catch((error: unknown) => log.warn({ err: error }, 'The running jobs were not looked at'));
  };
  const stopHearing = await signals.hear({
    onWork: runner.wake,
    onEnd: options.onEnd,
    onStop: runner.leave,
  });
  // After that, so that nothing falls between: what was announced before is found by this look.
  look();
  const looking = setInterval(look, LOOK_MS);
  looking.unref();

  return {
    ...{ jobs, items, definitions, submit },
    cancel: createCancelling({ jobs, reading, ending, stopClaims }),
    resuming: createResuming({ jobs, reading, items, definitions, assets, submit }),
    reading,
    lookAround: runner.lookAround,
    installMetrics: metrics.install,
    sweeps: createJobSweeps({
      ...{ jobs, items, settlement, ending, admission, undoing, assets, objects },
      announceWork: signals.work,
      onExpiredLease: metrics.leaseExpired,
    }),
    async stop() {
      clearInterval(looking);
      await runner.stop();
      stopHearing();
    },
  };
}
