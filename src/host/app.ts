import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Settings } from '../../config/index.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { InstalledFonts } from '../imaging/fonts/fonts.ts';
import { ImageWorkers, type ImageWorkersOptions } from '../imaging/images/image-workers.ts';
import { LateWork } from '../imaging/images/pools/late-work.ts';
import { Readers } from '../imaging/readers/readers.ts';
import { openRenders, type Renders } from '../imaging/renders/renders.ts';
import { SharedClock, systemClock } from '../platform/clock.ts';
import { Capacity } from '../platform/concurrency/capacity.ts';
import { installBodyParsing } from '../platform/http/bodies/parsing.ts';
import { drainServer, ReleasableConnections } from '../platform/http/connection/closing.ts';
import { installFreeSpaceCheck } from '../platform/http/hooks/free-space.ts';
import { installIdempotency } from '../platform/http/hooks/idempotency.ts';
import { installRequestMetrics, installTracing } from '../platform/http/hooks/telemetry.ts';
import { countOpenPathCalls, healthRoutes, homeRoutes } from '../platform/http/open-paths.ts';
import { installOpenApi } from '../platform/http/openapi/install.ts';
import { createHttpServer, serverUrl } from '../platform/http/server.ts';
import { type LoadSnapshot, takeLoadSnapshot } from '../platform/metrics/load.ts';
import { createMeters, declareClockDifferenceGauge, type ProcessMeters } from '../platform/metrics/meters.ts';
import { meterStores } from '../platform/metrics/stores.ts';
import { Sweeper } from '../platform/periodic-tasks.ts';
import { StorageFullError } from '../platform/stores/documents/port.ts';
import { createFreeSpaceCheck, type Stores } from '../platform/stores/open.ts';
import type { Tracing } from '../platform/tracing/tracing.ts';
import { withoutAbsentFields } from '../platform/values/present.ts';
import { callerOrNull } from '../product/accounts/authentication.ts';
import { type CallGate, slotKindOf } from '../product/accounts/gate/gate.ts';
import { findOpCalls } from '../product/catalogue/usual-words.ts';
import { consoleRoutes } from '../product/console/routes.ts';
import { EVENT_PAYLOADS } from '../product/events/schema.ts';
import { referenceRoutes } from '../product/reference/routes.ts';
import { OperatorAccess, OperatorSessions } from './operator/access.ts';
import { DoctorExamination } from './operator/examination.ts';
import { BenchReports } from './operator/reports.ts';
import { operatorRoutes } from './operator/routes.ts';
import { answerControls } from './processes/controls.ts';
import { createProcessControls } from './processes/process-controls.ts';
import { type ImagingParts, openSlices, type PlatformParts } from './slices.ts';

export interface AppOptions {
  settings: Settings;
  stores: Stores;
  log: Logger;
  hostId: string;
  processId: string;
  /** Identifies the deployment, for the doctor. Absent if there can be no other deployment on the same stores. */
  deployment?: string;
  now: () => Date;
  /** When the embedded stores were opened; absent if other hosts share the stores. */
  storesOpenedAt?: Date;
  tracing: Tracing;
  /** Replacements for tests: the clock of image work, and the program and the CPU time of its child processes. */
  imageWork?: Pick<ImageWorkersOptions, 'clock' | 'processFile' | 'processCpuMs'> | undefined;
  /** The metrics of all processes in the format of Prometheus. */
  collectMetrics: () => Promise<string>;
  /** Whether the service has started; until then /readyz answers 503. If absent, the service counts as started. */
  isStarted?: () => boolean;
}

export interface App {
  server: FastifyInstance;
  connections: ReleasableConnections;
  /** Takes a snapshot of the counters and gauges of this process. */
  readLoad(): Promise<LoadSnapshot>;
  /**
   * Accepts no new connections, lets running calls finish for at most `timeoutMs`, then closes the slices and pools.
   */
  drain(timeoutMs: number): Promise<void>;
  /** Runs one round of every sweep task now. */
  sweep(): Promise<void>;
  /** Starts the image threads and reads the fonts, so that the first picture does not wait for them. */
  warmUp(): void;
}

const UNSANDBOXED_REMARK = 'The browser that draws templates has no sandbox: see RENDER_SANDBOX.';
const STORAGE_FULL_REMARK =
  'The disk is full but for its reserve (STORAGE_RESERVE_MEGABYTES): uploads are refused, and so are jobs, presets and templates; reads and deletes work.';
const WRONG_CLOCK_REMARK =
  'The clock of this host and the one of Redis differ by more than 5 s: synchronise both by NTP.';
const READINESS_CHECK_TIMEOUT_MS = 5_000;
/** The shortest time that the slices get to close, if the calls have used up the time of the drain. */
const MIN_SLICE_STOP_MS = 1_500;
const POOLS_CLOSE_TIMEOUT_MS = 3_000;

/** The parts of a process on which all others depend. */
interface BaseParts extends Omit<AppOptions, 'now'> {
  /** The stores. Each request to them is measured. */
  stores: Stores;
  meters: ProcessMeters;
  clock: SharedClock;
  capacity: Capacity;
  server: FastifyInstance;
  publicUrl: () => string;
  /** Aborts when the process stops taking calls. */
  draining: AbortController;
  checkFreeSpace: () => Promise<void>;
}

type Slices = Awaited<ReturnType<typeof openSlices>>;

/** The composition root: starts the parts of a process, each after those that it depends on. */
export async function buildApp(options: AppOptions): Promise<App> {
  const baseParts = await openBaseParts(options);
  const { server } = baseParts;
  const imaging = await openImaging(baseParts);
  await installOpenApi(server, {
    version: packageJson.version,
    publicUrl: baseParts.publicUrl,
    webhookPayloads: EVENT_PAYLOADS,
  });
  installMeters(baseParts, imaging);
  const slices = await openSlices(baseParts.settings, platformOf(baseParts), imaging);
  const connections = installDraining(baseParts);
  await registerOpenRoutes(baseParts, imaging, slices);
  await registerApi(baseParts, slices);
  await registerOperator(baseParts, slices);
  const sweeper = startSweeper(baseParts, slices);
  const readLoad = async () => ({ ...(await takeLoadSnapshot()), accounts: slices.gate.accountCalls() });
  const endControls = await startControls(baseParts, imaging, readLoad);

  async function drain(timeoutMs: number): Promise<void> {
    const startedMs = performance.now();
    baseParts.draining.abort();
    baseParts.clock.close();
    const swept = sweeper.stop();
    await drainServer(server.server, timeoutMs);
    server.server.closeAllConnections();
    await server.close();
    const remainingMs = startedMs + timeoutMs - performance.now();
    const stopped = Promise.all([swept, stopSlices(slices, baseParts.log)]);
    await waitAtMost(Math.max(remainingMs, MIN_SLICE_STOP_MS), stopped);
    await waitAtMost(POOLS_CLOSE_TIMEOUT_MS, closeImaging(imaging));
    // Answers to operators' commands end last, because each command waits for an answer from every process.
    endControls();
  }

  /** A failure is ignored here, because the first call and /readyz report it again. */
  function warmUp(): void {
    imaging.imageWorkers.selfTest().catch(() => undefined);
    imaging.fonts.list().catch(() => undefined);
  }

  return { server, connections, readLoad, drain, sweep: () => sweeper.sweep(), warmUp };
}

async function openBaseParts(options: AppOptions): Promise<BaseParts> {
  const { settings, tracing, log, now } = options;
  const meters = createMeters(tracing);
  const stores = meterStores(options.stores, meters.stores.observerOf);
  const clock = await SharedClock.open({ readTime: () => stores.coordination.time(), now, log });
  declareClockDifferenceGauge(clock.differenceMs);
  const server = createHttpServer(settings.http, log, findOpCalls);
  installTracing(server, tracing);
  countOpenPathCalls(server, {
    coordination: stores.coordination,
    hostId: options.hostId,
    requestsPerMinute: settings.http.REQUESTS_PER_MINUTE,
  });
  return {
    ...options,
    stores,
    meters,
    clock,
    capacity: new Capacity({
      ...{ ...settings.processes, ...settings.images, ...settings.renders },
      ...{ ...settings.jobs, ...settings.webhooks },
    }),
    server,
    publicUrl: () => settings.http.PUBLIC_URL || serverUrl(server, settings.http.HOST),
    draining: new AbortController(),
    checkFreeSpace: createFreeSpaceCheck(settings.stores, stores),
  };
}

async function openImaging(baseParts: BaseParts): Promise<ImagingParts> {
  const { settings, stores, capacity, log, meters, imageWork } = baseParts;
  // The fonts are installed before anything starts that draws text.
  const fonts = new InstalledFonts();
  const imageWorkers = new ImageWorkers({
    settings: settings.images,
    capacity,
    log,
    lateWork: await LateWork.open(imageWork?.clock ?? systemClock, stores.coordination),
    meter: meters.pools,
    ...imageWork,
  });
  const readers = new Readers(imageWorkers);
  const renders = await openRenders({
    ...{ settings: settings.renders, capacity, dataDir: settings.stores.DATA_DIR, log },
    workerTime: imageWorkers.workerTime,
  });
  return { imageWorkers, readers, renders, fonts };
}

function installMeters(
  { server, settings, meters, collectMetrics }: BaseParts,
  { imageWorkers, renders }: ImagingParts,
): void {
  meters.pools.watchPools({
    image: () => imageWorkers.stats().quick,
    slow: () => imageWorkers.stats().slow,
    heavy: () => imageWorkers.stats().heavy,
    batch: () => imageWorkers.stats().batch,
    render: () => {
      const { threads: slots, busy, waiting } = renders.stats();
      return { slots, busy, waiting };
    },
  });
  installRequestMetrics(server, {
    requests: meters.requests,
    collect: collectMetrics,
    port: settings.http.METRICS_PORT,
    token: settings.http.METRICS_TOKEN,
  });
}

/** The parts of this process that every slice gets. */
function platformOf({ stores, clock, draining, storesOpenedAt, ...baseParts }: BaseParts): PlatformParts {
  const { log, hostId, processId, meters, tracing, capacity, publicUrl } = baseParts;
  return {
    ...{ documents: stores.documents, coordination: stores.coordination, objects: stores.objects },
    ...{ log, hostId, processId, now: clock.now, meters, tracing, capacity, publicUrl },
    draining: draining.signal,
    ...withoutAbsentFields({ storesOpenedAt }),
  };
}

/** Tells clients to reconnect while the process drains, and hands connections to other processes. */
function installDraining({ server, draining, meters }: BaseParts): ReleasableConnections {
  server.addHook('onSend', (_request, reply, _payload, done) => {
    if (draining.signal.aborted) reply.header('connection', 'close');
    done();
  });
  return new ReleasableConnections(server, {
    isWork: (request) => slotKindOf(request, request.routeOptions.config ?? {}) === 'calls',
    onReleased: () => meters.connectionsReleased.inc(),
    clock: systemClock,
  });
}

/** Registers the routes outside the API: health, pages, signed links to results, and delivered pictures. */
async function registerOpenRoutes(
  { server, stores, clock, draining, publicUrl, checkFreeSpace, isStarted = () => true }: BaseParts,
  { imageWorkers, renders }: ImagingParts,
  slices: Slices,
): Promise<void> {
  await server.register(healthRoutes, {
    closedBecause() {
      if (draining.signal.aborted) return 'is draining';
      return isStarted() ? null : 'is starting';
    },
    checkTimeoutMs: READINESS_CHECK_TIMEOUT_MS,
    remarks: () => readRemarks(renders, checkFreeSpace, clock),
    clockDifferenceMs: () => Math.round(clock.differenceMs()),
    checks: {
      documents: () => stores.documents.ping(),
      coordination: () => stores.coordination.ping(),
      objects: () => stores.objects.ping(),
      pixels: () => imageWorkers.selfTest(),
    },
  });
  await server.register(homeRoutes, { publicUrl });
  await server.register(referenceRoutes, slices.catalogue);
  await server.register(consoleRoutes);
  await server.register(slices.transforms.resultRoutes);
  await server.register(slices.delivery.addressRoutes);
}

/** Registers the API: the gate, which lets calls in, and then the slices. The tools for agents share the gate. */
async function registerApi({ server, stores, checkFreeSpace }: BaseParts, slices: Slices): Promise<void> {
  await server.register(
    async (api) => {
      installAdmission(api, stores, slices, checkFreeSpace);
      await api.register(slices.catalogue.priceRoutes);
      for (const slice of slices.all) await api.register(slice.routes, { prefix: '/v1' });
    },
    { prefix: '/api' },
  );
  await server.register(async (tools) => {
    installAdmission(tools, stores, slices, checkFreeSpace);
    await tools.register(slices.mcp.routes);
  });
}

async function registerOperator(
  { server, settings, stores, publicUrl }: BaseParts,
  { gate }: Slices,
): Promise<void> {
  await server.register(
    async (operator) => {
      installBodyParsing(operator, ({ ip }) => ip);
      await operator.register(operatorRoutes, {
        access: new OperatorAccess({
          token: settings.operator.OPERATOR_TOKEN,
          sessions: new OperatorSessions(stores.coordination),
          gate,
          publicUrl,
        }),
        coordination: stores.coordination,
        reports: new BenchReports(settings.operator.RESULTS_DIR),
        examination: new DoctorExamination(),
      });
    },
    { prefix: '/operator/v1' },
  );
}

function startSweeper(
  { stores, hostId, processId, settings, clock, log }: BaseParts,
  slices: Slices,
): Sweeper {
  const sweeper = new Sweeper({
    coordination: stores.coordination,
    owner: `${hostId}/${processId}`,
    tasks: slices.all.flatMap(({ sweeps = [] }) => sweeps),
    intervalMs: settings.processes.SWEEP_INTERVAL_MS,
    now: clock.now,
    yields: clock.yieldsSweeps,
    log,
  });
  sweeper.start();
  return sweeper;
}

/**
 * Answers the operator's commands to this process.
 * @returns a function that stops answering.
 */
function startControls(
  { stores, hostId, processId, deployment = '', capacity, clock, log }: BaseParts,
  { imageWorkers, renders }: ImagingParts,
  readLoad: App['readLoad'],
): Promise<() => void> {
  return answerControls(
    stores.coordination,
    { hostId, processId },
    createProcessControls({ ...{ imageWorkers, renders, capacity, clock, log, readLoad }, deployment }),
  );
}

/** Slices close in the reverse order, so that each can still use those that were opened before it. */
async function stopSlices({ all }: Slices, log: Logger): Promise<void> {
  for (const slice of all.toReversed()) {
    try {
      await slice.stop?.();
    } catch (error) {
      log.error({ err: error }, 'A slice did not stop as it should; the next start finishes its work');
    }
  }
}

function closeImaging({ imageWorkers, readers, renders }: ImagingParts): Promise<unknown> {
  return Promise.all([imageWorkers.close(), readers.close(), renders.close()]);
}

/**
 * Installs the checks before each call: the gate, the Idempotency-Key, free disk space, and the parsing of the body. It
 * also records each answered call for its account.
 */
function installAdmission(
  api: FastifyInstance,
  stores: Stores,
  { gate, requests }: { gate: CallGate; requests: { install(app: FastifyInstance): void } },
  checkFreeSpace: () => Promise<void>,
): void {
  const ownerOf = (request: FastifyRequest) => callerOrNull(request)?.accountId ?? request.ip;
  requests.install(api);
  gate.install(api);
  installIdempotency(api, stores.coordination, ownerOf);
  installFreeSpaceCheck(api, checkFreeSpace);
  installBodyParsing(api, ownerOf);
}

/** The warnings that /readyz gives the operator, one sentence each. */
async function readRemarks(
  renders: Renders,
  checkFreeSpace: () => Promise<void>,
  clock: SharedClock,
): Promise<string[]> {
  const hasFreeSpace = await checkFreeSpace().then(
    () => true,
    (error) => !(error instanceof StorageFullError),
  );
  return [
    ...(renders.isSandboxed() ? [] : [UNSANDBOXED_REMARK]),
    ...(hasFreeSpace ? [] : [STORAGE_FULL_REMARK]),
    ...(clock.isWrong() ? [WRONG_CLOCK_REMARK] : []),
  ];
}

/** Waits for work to end, with a timeout. */
async function waitAtMost(timeoutMs: number, work: Promise<unknown>): Promise<void> {
  await Promise.race([work, sleep(timeoutMs, undefined, { ref: false })]);
}
