import { statSync } from 'node:fs';
import { maxHeaderSize } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import type { Logger } from 'pino';
import type { Settings } from '../config/index.ts';
import { planNamed, readPlans } from '../config/plans.ts';
import packageJson from '../package.json' with { type: 'json' };
import { accountRoutes } from './accounts/account-routes.ts';
import { createAuthentication } from './accounts/authentication.ts';
import { installGate } from './accounts/gate.ts';
import { keyRoutes } from './accounts/key-routes.ts';
import { sessionRoutes } from './accounts/session-routes.ts';
import { openAccountsStore } from './accounts/store.ts';
import { openAssets } from './assets/assets.ts';
import { createAllowance } from './billing/allowance.ts';
import { openCatchUp } from './billing/catch-up.ts';
import { createDescription } from './billing/description.ts';
import { createMovements } from './billing/movements.ts';
import { billingRoutes } from './billing/routes.ts';
import { openBillingStore } from './billing/store.ts';
import { createSyncRuns } from './billing/sync-runs.ts';
import { syncUsage } from './billing/sync-usage.ts';
import { catalogueRoutes, priceListRoutes } from './catalogue/routes.ts';
import { feedbackRoutes } from './feedback/routes.ts';
import { FeedbackStore } from './feedback/store.ts';
import { installAccessLog } from './http/access-log.ts';
import { installBodies, installBodyParsing } from './http/bodies.ts';
import { drainServer } from './http/draining.ts';
import { asApiError, installFailures, sendFailure } from './http/failures.ts';
import { healthRoutes } from './http/health.ts';
import { installIdempotency } from './http/idempotency.ts';
import { llmsRoutes } from './http/llms.ts';
import { installMetrics, type PoolStats } from './http/metrics.ts';
import { installNegotiation } from './http/negotiation.ts';
import { installOpenApi } from './http/openapi.ts';
import { installRequestIds, requestIdOf } from './http/request-ids.ts';
import { openSignatures } from './http/signatures.ts';
import { installUnknownRoutes } from './http/unknown-routes.ts';
import { refuseExpectations, refuseUnreadable } from './http/unreadable.ts';
import { installValidation } from './http/validation.ts';
import { metadataRoutes } from './images/metadata.ts';
import { renderRoutes } from './images/render.ts';
import { createResults, resultRoutes } from './images/results.ts';
import { transformRoutes } from './images/transform.ts';
import { readModels } from './models/models.ts';
import { modelRoutes } from './models/routes.ts';
import { createOutbound } from './outbound/outbound.ts';
import { createPixels } from './pixels/pixels.ts';
import { createRenders, type Renders } from './pixels/renders.ts';
import { sandboxObstacle } from './pixels/sandbox.ts';
import { presetRoutes } from './presets/routes.ts';
import { PresetsStore } from './presets/store.ts';
import { createPresetPass } from './presets/transform-pass.ts';
import { createSweeper, type Sweeper } from './processes/sweeper.ts';
import { deleteExpired } from './stores/documents/expiry.ts';
import type { Stores } from './stores/open.ts';
import { templateRoutes } from './templates/routes.ts';
import { TemplatesStore } from './templates/store.ts';

export interface AppOptions {
  settings: Settings;
  stores: Stores;
  log: Logger;
  hostId: string;
  processId: string;
  now: () => Date;
  /** The metrics of every process together, as Prometheus reads them. */
  collectMetrics: () => Promise<string>;
}

export interface App {
  server: FastifyInstance;
  /** Takes no new connection, lets calls in flight finish for at most `timeoutMs`, then ends pools and timers. */
  drain(timeoutMs: number): Promise<void>;
}

/** Limits of an account that no setting changes. */
const JOB_WAITS = 8;
const RUNNING_JOBS_PER_TYPE = 2;
const UNSANDBOXED = 'The browser that draws templates has no sandbox: see RENDER_SANDBOX.';
const READY_TIMEOUT_MS = 5_000;
const POOLS_TIMEOUT_MS = 3_000;
/** When this release was unpacked: the guidelines' date. */
const INSTALLED_AT = statSync(new URL('../package.json', import.meta.url)).mtime;

/** The composition root: what a process is made of, in the order that it starts. */
export async function buildApp(options: AppOptions): Promise<App> {
  const { settings, stores, now } = options;
  const server = newServer(options);
  const publicUrl = () => settings.http.PUBLIC_URL || addressOf(server, settings.http.HOST);
  const parts = await openParts(options, publicUrl);
  const { pixels, renders, signatures } = parts;
  let draining = false;

  installManners(server);
  refuseExpectations(server.server);
  await installOpenApi(server, packageJson.version);
  installMetrics(server, {
    pools: { image: () => pixels.stats(), render: () => renderStats(renders) },
    collect: options.collectMetrics,
  });
  server.addHook('onSend', async (_request, reply) => {
    if (draining) reply.header('connection', 'close');
  });

  // Outside of the interface.
  await server.register(healthRoutes, {
    isDraining: () => draining,
    checkTimeoutMs: READY_TIMEOUT_MS,
    remarks: () => (renders.isSandboxed() ? [] : [UNSANDBOXED]),
    checks: {
      documents: () => stores.documents.ping(),
      coordination: () => stores.coordination.ping(),
      objects: () => stores.objects.ping(),
      pixels: () => pixels.selfTest(),
    },
  });
  await server.register(llmsRoutes, { publicUrl });
  await server.register(resultRoutes, { objects: stores.objects, signatures, publicUrl, now });
  await server.register((api) => registerInterface(api, options, parts), { prefix: '/api' });

  const sweeper = newSweeper(options, parts);
  sweeper.start();

  async function drain(timeoutMs: number): Promise<void> {
    draining = true;
    const swept = sweeper.stop();
    await drainServer(server.server, timeoutMs);
    server.server.closeAllConnections();
    await server.close();
    parts.stopCatchingUp();
    await Promise.all([swept, parts.syncRuns.end()]);
    await Promise.race([
      Promise.all([pixels.close(), renders.close()]),
      sleep(POOLS_TIMEOUT_MS, undefined, { ref: false }),
    ]);
  }

  return { server, drain };
}

function newServer({ settings: { http }, log }: AppOptions): FastifyInstance {
  return Fastify({
    loggerInstance: log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    requestIdHeader: false,
    genReqId: requestIdOf,
    trustProxy: http.TRUST_PROXY === '' ? false : http.TRUST_PROXY.split(','),
    requestTimeout: http.BODY_TIMEOUT_MS,
    keepAliveTimeout: http.IDLE_TIMEOUT_MS,
    connectionTimeout: http.STALL_TIMEOUT_MS,
    clientErrorHandler: refuseUnreadable,
    http: {
      headersTimeout: http.HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: 1_000,
      requireHostHeader: false,
    },
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    bodyLimit: Number.MAX_SAFE_INTEGER,
    // As long as a path can be: what is no id is refused by the route that is asked for it.
    routerOptions: { maxParamLength: maxHeaderSize, ignoreTrailingSlash: false },
    frameworkErrors: (error, request, reply) => sendFailure(request, reply, asApiError(error)),
  });
}

type Parts = Awaited<ReturnType<typeof openParts>>;

/** What the routes are built upon: the stores of each noun, the threads, and what stands on both. */
async function openParts({ settings, stores, log, now }: AppOptions, publicUrl: () => string) {
  const plans = readPlans();
  const models = readModels();
  const topUpUrl = () => settings.billing.TOP_UP_URL || `${publicUrl()}/docs`;

  // Stores, and what stands on them alone.
  const accounts = await openAccountsStore(stores.documents);
  const billing = await openBillingStore(stores.documents);
  const templates = await TemplatesStore.open(stores.documents);
  const presets = await PresetsStore.open(stores.documents);
  const feedback = await FeedbackStore.open(stores.documents);
  const signatures = await openSignatures(stores.documents);
  const movements = createMovements(billing, now);
  const syncRuns = createSyncRuns(billing, now, (error) =>
    log.error({ err: error }, 'Usage could not be written'),
  );
  const { catchUp, close: stopCatchingUp } = await openCatchUp(stores.coordination, syncRuns);
  const allowance = createAllowance({
    store: billing,
    movements,
    syncRuns,
    plan: (id) => planNamed(plans, id),
    topUpUrl,
    now,
  });
  const results = createResults({ objects: stores.objects, signatures, publicUrl, now });

  // Threads, and the way out.
  const pixels = createPixels({ settings: settings.pixels, processes: settings.processes.PROCESSES, log });
  const renders = createRenders({
    threads: settings.renders.RENDER_THREADS,
    queueLimit: settings.renders.RENDER_QUEUE,
    browserPath: settings.renders.BROWSER_PATH,
    cacheDir: join(settings.stores.DATA_DIR, 'browser'),
    recycleAfterPages: settings.renders.RENDER_RECYCLE_PAGES,
    sandbox: settings.renders.RENDER_SANDBOX,
    sandboxed: (await sandboxObstacle()) === null,
    recycleAboveBytes: settings.renders.RENDER_MEMORY_MEGABYTES * 1024 * 1024,
    publicUrl: settings.http.PUBLIC_URL || `http://${settings.http.HOST}:${settings.http.PORT}`,
    log,
  });
  const outbound = createOutbound({
    allowedSubnets: settings.outbound.OUTBOUND_ALLOWED_SUBNETS,
    allowsHttp: settings.outbound.OUTBOUND_ALLOW_HTTP,
  });

  // What stands on stores and threads together.
  const assets = await openAssets({
    documents: stores.documents,
    objects: stores.objects,
    pixels,
    outbound,
    signatures,
    imageThreads: settings.pixels.IMAGE_THREADS,
    storedAssets: (plan) => planNamed(plans, plan).storedAssets,
    publicUrl,
    upgradeUrl: topUpUrl,
    now,
    log,
  });
  const describe = createDescription({
    store: accounts,
    catchUp,
    plan: (id) => planNamed(plans, id),
    storedAssets: assets.storedAssets,
    limits: {
      syncConcurrency: settings.accounts.SYNC_CALLS_PER_ACCOUNT,
      jobWaits: JOB_WAITS,
      requestsPerMinute: settings.http.REQUESTS_PER_MINUTE,
      runningJobsPerType: RUNNING_JOBS_PER_TYPE,
    },
    now,
  });

  return {
    plans,
    models,
    accounts,
    billing,
    templates,
    presets,
    feedback,
    signatures,
    movements,
    syncRuns,
    catchUp,
    stopCatchingUp,
    allowance,
    results,
    pixels,
    renders,
    outbound,
    assets,
    describe,
    publicUrl,
  };
}

/** Manners that every route has, and every refusal too. */
function installManners(server: FastifyInstance): void {
  installRequestIds(server);
  installUnknownRoutes(server);
  installFailures(server);
  installValidation(server);
  installNegotiation(server);
  installBodies(server);
  installAccessLog(server);
}

/** The interface: one gate, then the slices. */
async function registerInterface(
  api: FastifyInstance,
  { settings, stores, hostId, processId, now }: AppOptions,
  parts: Parts,
): Promise<void> {
  const { plans, models, accounts, billing, assets, templates, presets } = parts;
  const { pixels, outbound, allowance, catchUp, describe } = parts;
  const gate = installGate(api, {
    coordination: stores.coordination,
    authentication: createAuthentication(accounts, () => now().getTime()),
    hostId,
    processId,
    requestsPerMinute: settings.http.REQUESTS_PER_MINUTE,
    failedAuthenticationsPerMinute: settings.http.FAILED_AUTHENTICATIONS_PER_MINUTE,
    syncCallsPerAccount: settings.accounts.SYNC_CALLS_PER_ACCOUNT,
    now: () => now().getTime(),
  });
  installIdempotency(
    api,
    stores.coordination,
    (request) => gate.callerIfAny(request)?.accountId ?? request.ip,
  );
  installBodyParsing(api);

  const catalogue = { plans, models, installedAt: INSTALLED_AT };
  const timeoutMs = settings.pixels.TRANSFORM_TIMEOUT_MS;
  const lane = { gate, pixels, outbound, allowance, readAsset: assets.readAsset, timeoutMs, now };
  await api.register(catalogueRoutes, { prefix: '/v1', ...catalogue });
  await api.register(priceListRoutes, catalogue);
  await api.register(modelRoutes, { prefix: '/v1', models });
  await api.register(keyRoutes, { prefix: '/v1', store: accounts, gate, now });
  await api.register(sessionRoutes, { prefix: '/v1', store: accounts, gate, describe, now });
  await api.register(accountRoutes, { prefix: '/v1', gate, describe });
  await api.register(billingRoutes, {
    prefix: '/v1',
    store: billing,
    movements: parts.movements,
    catchUp,
    usageSources: [syncUsage(billing.usage)],
    gate,
    now,
  });
  await api.register(feedbackRoutes, { prefix: '/v1', store: parts.feedback, gate, now });
  await api.register(assets.routes, { prefix: '/v1', gate });
  await api.register(templateRoutes, { prefix: '/v1', store: templates, gate, now });
  await api.register(presetRoutes, {
    prefix: '/v1',
    store: presets,
    gate,
    models,
    missingAssets: assets.missingAssets,
    usageOf: async () => new Map(),
    now,
  });
  const presetPass = createPresetPass(presets, models);
  await api.register(transformRoutes, { prefix: '/v1', ...lane, results: parts.results, presetPass });
  await api.register(metadataRoutes, { prefix: '/v1', ...lane });
  await api.register(renderRoutes, {
    prefix: '/v1',
    ...lane,
    timeoutMs: settings.renders.RENDER_TIMEOUT_MS,
    renders: parts.renders,
    templates,
    publicUrl: parts.publicUrl,
  });
}

/** What runs beside the calls. */
function newSweeper({ settings, stores, hostId, processId, now, log }: AppOptions, parts: Parts): Sweeper {
  const { accounts, billing, allowance, results, assets } = parts;
  return createSweeper({
    coordination: stores.coordination,
    owner: `${hostId}/${processId}`,
    duties: [
      { name: 'sessions', sweep: (instant) => deleteExpired(accounts.sessions, instant) },
      { name: 'usage by the hour', sweep: (instant) => deleteExpired(billing.usage.hours, instant) },
      { name: 'usage by the day', sweep: (instant) => deleteExpired(billing.usage.days, instant) },
      { name: 'usage by the call', sweep: (instant) => deleteExpired(billing.usage.runs, instant) },
      { name: 'reservations', sweep: () => allowance.sweep() },
      { name: 'results', sweep: () => results.sweep() },
      ...assets.sweeps,
    ],
    intervalMs: settings.processes.SWEEP_INTERVAL_MS,
    now,
    log,
  });
}

function renderStats(renders: Renders): PoolStats {
  const { threads, busy, waiting } = renders.stats();
  return { threads, busy, queued: waiting, waitMs: 0 };
}

/** Where the server really listens, when no public address was set. */
function addressOf(server: FastifyInstance, host: string): string {
  const address = server.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
