import { statSync } from 'node:fs';
import type { Logger } from 'pino';
import type { Settings } from '../config/index.ts';
import { planNamed, readPlans } from '../config/plans.ts';
import { JOB_WAITS } from './accounts/gate/gate.ts';
import { type Accounts, openAccounts } from './accounts/open.ts';
import { type Assets, openAssets } from './assets/open.ts';
import { type Billing, openBilling } from './billing/open.ts';
import type { Capacity } from './capacity/capacity.ts';
import { openCatalogue } from './catalogue/open.ts';
import { openEvents } from './events/open.ts';
import { openFeedback } from './feedback/open.ts';
import { openSignatures } from './http/signatures.ts';
import type { Slice } from './http/slice.ts';
import { openImages } from './images/open.ts';
import { RUNNING_JOBS_PER_TYPE } from './jobs/job.ts';
import { type Jobs, openJobs } from './jobs/open.ts';
import { createMail } from './mail/mail.ts';
import type { Meters } from './metrics/meters.ts';
import { offeredModels, readModels } from './models/models.ts';
import { openModels } from './models/open.ts';
import { MEGABYTE } from './names/units.ts';
import { createOutbound } from './outbound/outbound.ts';
import { tracedOutbound } from './outbound/traced.ts';
import type { Pixels } from './pixels/pixels.ts';
import type { Renders } from './pixels/renders/renders.ts';
import { openPresets } from './presets/open.ts';
import { createAnswerSchemas } from './providers/answer-schemas.ts';
import { openProviders } from './providers/open.ts';
import { offeredBy } from './providers/registry.ts';
import { tracedProviders } from './providers/traced.ts';
import type { Coordination } from './stores/coordination/port.ts';
import type { Documents } from './stores/documents/port.ts';
import type { Objects } from './stores/objects/port.ts';
import { openTemplates } from './templates/open.ts';
import type { Tracing } from './tracing/tracing.ts';
import { openWebhooks } from './webhooks/open.ts';

/** The stores of a process, its clock, its log and its end: what every slice may be given. */
export interface Platform {
  documents: Documents;
  coordination: Coordination;
  objects: Objects;
  /** What the process counts; a slice may declare metrics of its own beside them. */
  meters: Meters;
  tracing: Tracing;
  capacity: Capacity;
  hostId: string;
  processId: string;
  /** Base of the links that the service gives out. */
  publicUrl: () => string;
  /** Aborts when the process stops taking calls: calls that wait are answered, and nothing new begins. */
  draining: AbortSignal;
  /** When the embedded stores were opened; absent where other hosts share the stores. */
  storesOpenedAt?: Date;
  now: () => Date;
  log: Logger;
}

export interface SlicesOptions {
  settings: Settings;
  platform: Platform;
  pixels: Pixels;
  renders: Renders;
}

/** When this release was unpacked: the guidelines' date. */
const INSTALLED_AT = statSync(new URL('../package.json', import.meta.url)).mtime;

/** Opens the slices, one statement each, in an order in which each finds what it needs. */
export async function openSlices({ settings, platform, pixels, renders }: SlicesOptions) {
  const { documents, publicUrl, log } = platform;
  const all: Slice[] = [];
  const added = <S extends Slice>(slice: S): S => {
    all.push(slice);
    return slice;
  };

  // A slice asks a later one through a function: it is called only when all of them are open.
  const later = {
    describeAccount: (accountId: string) => billing.describe(accountId),
    storedAssets: (accountId: string) => assets.storedAssets(accountId),
    usageSources: () => [jobs.usageSource],
    usageOfPresets: (...presets: Parameters<Jobs['usageOf']>) => jobs.usageOf(...presets),
    typicalSeconds: (op: string, model: string) => jobs.typicalSeconds(op, model),
  };

  const plans = readPlans();
  const plan = (id: string) => planNamed(plans, id);
  const models = offeredModels(readModels(), offeredBy(settings.providers));
  const topUpUrl = () => settings.billing.TOP_UP_URL || `${publicUrl()}/docs`;
  const signatures = await openSignatures(documents);
  const outbound = tracedOutbound(
    createOutbound({
      allowedSubnets: settings.outbound.OUTBOUND_ALLOWED_SUBNETS,
      allowsHttp: settings.outbound.OUTBOUND_ALLOW_HTTP,
    }),
    platform.tracing,
  );
  const answerSchemas = createAnswerSchemas();

  const accounts: Accounts = added(
    await openAccounts({
      ...platform,
      settings: { ...settings.http, ...settings.accounts },
      describe: later.describeAccount,
    }),
  );
  const { gate } = accounts;
  const billing: Billing = added(
    await openBilling({
      ...platform,
      gate,
      plan,
      topUpUrl,
      accounts: accounts.store,
      storedAssets: later.storedAssets,
      usageSources: later.usageSources,
      limits: {
        syncConcurrency: settings.accounts.SYNC_CALLS_PER_ACCOUNT,
        jobWaits: JOB_WAITS,
        requestsPerMinute: settings.http.REQUESTS_PER_MINUTE,
        runningJobsPerType: RUNNING_JOBS_PER_TYPE,
      },
    }),
  );
  const catalogue = added(
    openCatalogue({ plans, models, installedAt: INSTALLED_AT, typicalSeconds: later.typicalSeconds }),
  );
  added(openModels({ models }));
  added(await openFeedback({ ...platform, gate }));
  const assets: Assets = added(
    await openAssets({
      ...platform,
      gate,
      pixels,
      outbound,
      signatures,
      storedAssets: (id) => plan(id).storedAssets,
      upgradeUrl: topUpUrl,
    }),
  );
  const templates = added(await openTemplates({ ...platform, gate }));
  const presets = added(
    await openPresets({
      ...platform,
      gate,
      models,
      answerSchemas,
      missingAssets: assets.missingAssets,
      usageOf: later.usageOfPresets,
    }),
  );
  const images = added(
    openImages({
      ...platform,
      gate,
      pixels,
      renders,
      outbound,
      signatures,
      templates,
      presets,
      allowance: billing.allowance,
      readAsset: assets.readAsset,
      settings: { ...settings.pixels, ...settings.renders },
    }),
  );
  const events = await openEvents(platform);
  // The webhooks stop after the jobs: the last events of jobs still become deliveries.
  added(
    await openWebhooks({
      ...platform,
      gate,
      events,
      outbound,
      mail: createMail({ settings: settings.mail, log }),
      emailOf: async (id) => (await accounts.store.find(id))?.email ?? null,
      settings: { ...settings.webhooks, SWEEP_INTERVAL_MS: settings.processes.SWEEP_INTERVAL_MS },
    }),
  );
  const providers = openProviders({
    ...platform,
    models,
    pixels,
    outbound,
    answerSchemas,
    settings: settings.providers,
  });
  const jobs: Jobs = added(
    await openJobs({
      ...platform,
      gate,
      models,
      pixels,
      renders,
      signatures,
      presets,
      templates,
      answerSchemas,
      events,
      plan,
      assets: assets.jobs,
      storedAssets: assets.storedAssets,
      holds: billing.holds,
      providers: tracedProviders(providers, platform.tracing),
      upgradeUrl: topUpUrl,
      keptBytesMax: settings.jobs.JOB_DOCUMENTS_MEGABYTES * MEGABYTE,
    }),
  );
  return { all, gate, catalogue, images };
}
