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

/** What every slice may be given; each names in its own options what it takes. */
export interface SlicesOptions {
  settings: Settings;
  documents: Documents;
  coordination: Coordination;
  objects: Objects;
  pixels: Pixels;
  renders: Renders;
  /** What the process counts; a slice may declare metrics of its own beside them. */
  meters: Meters;
  tracing: Tracing;
  capacity: Capacity;
  hostId: string;
  processId: string;
  /** Base of the links that the service gives out. */
  publicUrl: () => string;
  /** Aborts when the process stops taking calls: what waits answers, and nothing new begins. */
  draining: AbortSignal;
  now: () => Date;
  log: Logger;
}

/** When this release was unpacked: the guidelines' date. */
const INSTALLED_AT = statSync(new URL('../package.json', import.meta.url)).mtime;

/**
 * Opens the slices, one statement each, in an order in which each finds what it needs. What a slice asks of a later one,
 * it asks through a function, which is called when all of them are open.
 */
export async function openSlices(options: SlicesOptions) {
  const { settings, documents, pixels, renders, publicUrl } = options;
  const all: Slice[] = [];
  const added = <S extends Slice>(slice: S): S => {
    all.push(slice);
    return slice;
  };

  const plans = readPlans();
  const models = offeredModels(readModels(), offeredBy(settings.providers));
  const signatures = await openSignatures(documents);
  const guarded = createOutbound({
    allowedSubnets: settings.outbound.OUTBOUND_ALLOWED_SUBNETS,
    allowsHttp: settings.outbound.OUTBOUND_ALLOW_HTTP,
  });
  const outbound = tracedOutbound(guarded, options.tracing);
  const plan = (id: string) => planNamed(plans, id);
  const topUpUrl = () => settings.billing.TOP_UP_URL || `${publicUrl()}/docs`;

  const accounts: Accounts = added(
    await openAccounts({
      ...options,
      settings: { ...settings.http, ...settings.accounts },
      describe: (id) => billing.describe(id),
    }),
  );
  const { gate } = accounts;
  const base = { ...options, gate, models, plan, topUpUrl };

  const billing: Billing = added(
    await openBilling({
      ...base,
      accounts: accounts.store,
      storedAssets: (id) => assets.storedAssets(id),
      usageSources: () => [jobs.usageSource],
      limits: {
        syncConcurrency: settings.accounts.SYNC_CALLS_PER_ACCOUNT,
        jobWaits: JOB_WAITS,
        requestsPerMinute: settings.http.REQUESTS_PER_MINUTE,
        runningJobsPerType: RUNNING_JOBS_PER_TYPE,
      },
    }),
  );
  const catalogue = added(
    openCatalogue({
      ...{ plans, models, installedAt: INSTALLED_AT },
      typicalSeconds: (op, model) => jobs.typicalSeconds(op, model),
    }),
  );
  added(openModels({ models }));
  added(await openFeedback(base));
  const assets: Assets = added(
    await openAssets({
      ...base,
      pixels,
      outbound,
      signatures,
      storedAssets: (id) => plan(id).storedAssets,
      upgradeUrl: topUpUrl,
    }),
  );
  const templates = added(await openTemplates(base));
  const answerSchemas = createAnswerSchemas();
  const presets = added(
    await openPresets({
      ...base,
      missingAssets: assets.missingAssets,
      answerSchemas,
      usageOf: (...words) => jobs.usageOf(...words),
    }),
  );
  const images = added(
    openImages({
      ...base,
      pixels,
      renders,
      outbound,
      signatures,
      allowance: billing.allowance,
      readAsset: assets.readAsset,
      templates,
      presets,
      settings: { ...settings.pixels, ...settings.renders },
    }),
  );
  const events = await openEvents(base);
  // Before jobs, which end before it: what they announce last is still made into deliveries.
  added(
    await openWebhooks({
      ...base,
      events,
      outbound,
      mail: createMail({ settings: settings.mail, log: options.log }),
      emailOf: async (id) => (await accounts.store.find(id))?.email ?? null,
    }),
  );
  const jobs: Jobs = added(
    await openJobs({
      ...base,
      pixels,
      renders,
      assets: assets.jobs,
      signatures,
      presets,
      answerSchemas,
      templates,
      holds: billing.holds,
      events,
      providers: tracedProviders(
        openProviders({ ...base, pixels, outbound, answerSchemas }),
        options.tracing,
      ),
      storedAssets: assets.storedAssets,
      upgradeUrl: topUpUrl,
      keptBytesMax: settings.jobs.JOB_DOCUMENTS_MEGABYTES * MEGABYTE,
    }),
  );
  return { all, gate, catalogue, images };
}
