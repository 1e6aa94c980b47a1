import { statSync } from 'node:fs';
import type { Logger } from 'pino';
import type { Settings } from '../../config/index.ts';
import packageJson from '../../package.json' with { type: 'json' };
import type { InstalledFonts } from '../imaging/fonts/fonts.ts';
import type { ImageWorkers } from '../imaging/images/image-workers.ts';
import type { Readers } from '../imaging/readers/readers.ts';
import type { Renders } from '../imaging/renders/renders.ts';
import { LinkSigner } from '../platform/http/signatures.ts';
import type { ProductSlice } from '../platform/http/slice.ts';
import { createMailSender } from '../platform/mail.ts';
import type { ProcessMeters } from '../platform/metrics/meters.ts';
import { OutboundRequests } from '../platform/outbound/outbound.ts';
import { blockListOf, isAddressAllowed } from '../platform/outbound/target.ts';
import type { ProcessParts } from '../platform/process-parts.ts';
import type { Tracing } from '../platform/tracing/tracing.ts';
import { MEGABYTE_BYTES } from '../platform/values/units.ts';
import { MAX_WAITING_JOB_CALLS } from '../product/accounts/gate/gate.ts';
import { type AccountsSlice, openAccounts } from '../product/accounts/open.ts';
import { type AssetsSlice, openAssets } from '../product/assets/open.ts';
import { type BillingSlice, openBilling } from '../product/billing/open.ts';
import { readPlans, requirePlan } from '../product/billing/plans.ts';
import { openCatalogue } from '../product/catalogue/open.ts';
import { openDelivery } from '../product/delivery/open.ts';
import { EventOutbox } from '../product/events/open.ts';
import { openFeedback } from '../product/feedback/open.ts';
import { MAX_RUNNING_JOBS_PER_TYPE } from '../product/jobs/job.ts';
import { type JobsSlice, openJobs } from '../product/jobs/open.ts';
import { openMcp } from '../product/mcp/open.ts';
import { onlyOfferedModels, readModels } from '../product/models/models.ts';
import { openModels } from '../product/models/open.ts';
import { openPresets } from '../product/presets/open.ts';
import { AnswerSchemaChecker } from '../product/providers/answers.ts';
import { Providers } from '../product/providers/open.ts';
import { createOfferCheck } from '../product/providers/registry.ts';
import { openRequests } from '../product/requests/open.ts';
import { openTemplates } from '../product/templates/open.ts';
import { openTransforms } from '../product/transforms/open.ts';
import { openWebhooks } from '../product/webhooks/open.ts';

/** The parts of a process that every slice may use: stores, clock, log, shutdown signal. */
export interface PlatformParts extends ProcessParts {
  /** The metrics of the process; a slice may declare more. */
  meters: ProcessMeters;
  tracing: Tracing;
  /** When the embedded stores were opened; absent if other hosts share the stores. */
  storesOpenedAt?: Date;
  log: Logger;
}

/** The time at which this release was unpacked. The guidelines state it as their date. */
const INSTALLED_AT = statSync(new URL('../../package.json', import.meta.url)).mtime;

/** The pools of a process that work on images, and its fonts. */
export interface ImagingParts {
  imageWorkers: ImageWorkers;
  readers: Readers;
  renders: Renders;
  fonts: InstalledFonts;
}

/** Opens the slices, one statement each. Each slice is opened after those that it needs. */
export async function openSlices(settings: Settings, platform: PlatformParts, imaging: ImagingParts) {
  const { publicUrl, log } = platform;
  const all: ProductSlice[] = [];
  const addSlice = <S extends ProductSlice>(slice: S): S => {
    all.push(slice);
    return slice;
  };

  // The functions through which a slice calls slices that are opened after it. They are called only once all slices are
  // open.
  const forwardCalls = {
    describeAccount: (accountId: string) => billing.describe(accountId),
    countAssets: (accountId: string) => assets.countAssets(accountId),
    usageSources: () => [jobs.usageSource],
    usageOfPresets: (...presets: Parameters<JobsSlice['readPresetUsage']>) =>
      jobs.readPresetUsage(...presets),
    typicalSecondsOf: (op: string, model: string) => jobs.typicalSecondsOf(op, model),
  };

  const accounts: AccountsSlice = addSlice(
    openAccounts({
      ...platform,
      settings: { ...settings.http, ...settings.accounts },
      describe: forwardCalls.describeAccount,
    }),
  );
  const { gate } = accounts;
  const requests = addSlice(await openRequests({ ...platform, gate }));
  const shared = { ...platform, ...imaging, gate, ...(await openShared(settings, platform)) };
  const billing: BillingSlice = addSlice(
    openBilling({
      ...shared,
      accounts: accounts.store,
      countAssets: forwardCalls.countAssets,
      usageSources: forwardCalls.usageSources,
      limits: accountLimitsOf(settings),
      webhooks: webhookTargetsOf(settings),
    }),
  );
  const { typicalSecondsOf } = forwardCalls;
  const catalogue = addSlice(openCatalogue({ ...shared, installedAt: INSTALLED_AT, typicalSecondsOf }));
  addSlice(openModels(shared));
  addSlice(openFeedback(shared));
  const assets: AssetsSlice = addSlice(
    await openAssets({ ...shared, maxStoredAssetsOf: (id) => shared.plan(id).storedAssets }),
  );
  const templates = addSlice(openTemplates(shared));
  const { findMissingAssets } = assets;
  const presets = addSlice(
    openPresets({ ...shared, findMissingAssets, readPresetUsage: forwardCalls.usageOfPresets }),
  );
  const { allowance } = billing;
  const transforms = addSlice(
    openTransforms({
      ...shared,
      templates,
      presets,
      allowance,
      assets: assets.reader,
      settings: { ...settings.images, ...settings.renders },
    }),
  );
  const delivery = addSlice(
    await openDelivery({
      ...shared,
      accounts: accounts.store,
      assets,
      presets,
      allowance,
      engine: packageJson.version,
      settings: { ...settings.stores, ...settings.delivery, ...settings.images },
    }),
  );
  const events = await EventOutbox.open(platform);
  // The webhooks stop after the jobs, so that the last events of jobs still become deliveries.
  addSlice(
    await openWebhooks({
      ...shared,
      events,
      sendMail: createMailSender({ settings: settings.mail, log }),
      findEmail: async (id) => (await accounts.store.find(id))?.email ?? null,
      settings: { ...settings.webhooks, SWEEP_INTERVAL_MS: settings.processes.SWEEP_INTERVAL_MS },
    }),
  );
  const jobs: JobsSlice = addSlice(
    await openJobs({
      ...shared,
      presets,
      templates,
      events,
      assets: assets.jobs,
      countAssets: assets.countAssets,
      holds: billing.holds,
      providers: new Providers({ ...shared, settings: settings.providers }),
      maxKeptBytes: settings.jobs.JOB_DOCUMENTS_MEGABYTES * MEGABYTE_BYTES,
    }),
  );
  const mcp = openMcp({ gate, publicUrl, settings: settings.http });
  return { all, gate, requests, catalogue, transforms, delivery, mcp };
}

/** The limits of each account, as the usage report states them. */
function accountLimitsOf({ accounts, http }: Settings) {
  return {
    syncConcurrency: accounts.SYNC_CALLS_PER_ACCOUNT,
    jobWaits: MAX_WAITING_JOB_CALLS,
    requestsPerMinute: http.REQUESTS_PER_MINUTE,
    runningJobsPerType: MAX_RUNNING_JOBS_PER_TYPE,
  };
}

/** Where webhooks may go in addition to public addresses: over plain http, to this host, and to private networks. */
function webhookTargetsOf({ outbound }: Settings) {
  const subnets = outbound.OUTBOUND_ALLOWED_SUBNETS;
  const allowed = blockListOf(subnets);
  return {
    plainHttp: outbound.OUTBOUND_ALLOW_HTTP,
    loopback: ['127.0.0.1', '::1'].some((address) => isAddressAllowed(address, allowed)),
    privateNetworks: subnets.length > 0,
  };
}

/** Opens the objects that several slices share, in addition to the parts of the platform. */
async function openShared(settings: Settings, { documents, publicUrl, tracing }: PlatformParts) {
  const plans = readPlans();
  return {
    plans,
    plan: (id: string) => requirePlan(plans, id),
    models: onlyOfferedModels(readModels(), createOfferCheck(settings.providers)),
    topUpUrl: () => settings.billing.TOP_UP_URL || `${publicUrl()}/docs`,
    signatures: await LinkSigner.open(documents),
    outbound: new OutboundRequests({
      allowedSubnets: settings.outbound.OUTBOUND_ALLOWED_SUBNETS,
      allowsHttp: settings.outbound.OUTBOUND_ALLOW_HTTP,
      tracing,
    }),
    answerSchemas: new AnswerSchemaChecker(),
  };
}
