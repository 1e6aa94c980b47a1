import cluster from 'node:cluster';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { register } from 'prom-client';
import { loadSettingsFile, misspeltSettings, readSettings, type Settings } from '../../config/index.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { findSandboxObstacle } from '../imaging/renders/sandbox.ts';
import { systemClock } from '../platform/clock.ts';
import { Capacity, libuvThreadCount } from '../platform/concurrency/capacity.ts';
import { grantedCores, processCountSentence } from '../platform/concurrency/control-group.ts';
import { serveMetrics } from '../platform/http/hooks/telemetry.ts';
import { LinkSigner } from '../platform/http/signatures.ts';
import { randomText } from '../platform/ids/ids.ts';
import { declareRestartCounter, installHostMetrics } from '../platform/metrics/host.ts';
import { takeLoadSnapshot } from '../platform/metrics/load.ts';
import { SettingsError } from '../platform/setting.ts';
import { PrimaryChannelHost } from '../platform/stores/embedded/channel.ts';
import { readDiskSpace, reservedBytesOf } from '../platform/stores/objects/reserve.ts';
import { hasEmbeddedStores, openStores, type Stores, verifyStoreServers } from '../platform/stores/open.ts';
import { retryUntilLeaseEnds } from '../platform/stores/outages.ts';
import { MEGABYTE_BYTES } from '../platform/values/units.ts';
import { type BootstrapResult, bootstrapFirstAccount, welcomeText } from '../product/accounts/bootstrap.ts';
import { createSignInAddress } from '../product/accounts/sign-in/sessions.ts';
import { AccountsStore } from '../product/accounts/store.ts';
import { CreditMovements } from '../product/billing/movements.ts';
import { BillingStore } from '../product/billing/store.ts';
import { jobStoresOf } from '../product/jobs/context.ts';
import { releaseEndpointsByHolder } from '../product/webhooks/deliveries/schedule.ts';
import { createStoresContext } from './admin/commands.ts';
import { openAdminSocket } from './admin/socket.ts';
import { COLLECTIONS, prepareCollections } from './collections.ts';
import { LoadHistory, LoadRecorder, recordLoad } from './operator/history.ts';
import { HostReporter } from './operator/host-report.ts';
import { checkBrowserPath } from './processes/browser-path.ts';
import { answerControls, PRIMARY_PROCESS_ID } from './processes/controls.ts';
import {
  deploymentFingerprint,
  deploymentSettingFingerprints,
  holdRedisPrefix,
} from './processes/deployment.ts';
import { checkListenAddress } from './processes/free-port.ts';
import { ensureHome } from './processes/home.ts';
import { createLog } from './processes/log.ts';
import { chooseAllocator, v8HeapOptions } from './processes/memory.ts';
import { createMetricsCollection } from './processes/metrics-collection.ts';
import { createPrimaryControls } from './processes/primary-controls.ts';
import { replaceOnReload, stopOnSignals } from './processes/signals.ts';
import { Supervisor, type SupervisorOptions } from './processes/supervisor.ts';
import { endOnHelp, openInBrowser, printToStdout, surviveOutputErrors } from './processes/terminal.ts';

/** The longest time for which a lease of a dead process can still be valid. */
const MAX_LEASE_MS = 120_000;
/**
 * The duration of the lease under which one host makes the first account. It covers the rest of the start, until the
 * key is printed.
 */
const BOOTSTRAP_LEASE_MS = 60_000;

const START_USAGE = `npm start [-- --open]

Starts the service on http://127.0.0.1:3000, with its data in ./data; the first start prints an API key.
--open opens the console in the browser, signed in. Settings are environment variables, or lines of darkroom.env (config/settings.md lists them).
  PORT=8080 DATA_DIR=/var/lib/darkroom npm start

npm run doctor examines the host and the settings; npm run admin -- --help lists the commands of the operator.
`;

/** The parts of the primary process on which its other parts depend. */
interface Primary {
  settings: Settings;
  log: Logger;
  hostId: string;
  stores: Stores;
  /** Identifies the deployment to which the documents belong. Processes with the same value belong together. */
  deployment: string;
  /** The fingerprints of the settings that all hosts must share. */
  settingFingerprints: Record<string, string>;
  capacity: Capacity;
}

/** The primary process. It runs the embedded stores and supervises the API processes. It serves no calls itself. */
async function main(): Promise<void> {
  const words = process.argv.slice(2);
  endOnHelp(words, START_USAGE, ['--open']);
  surviveOutputErrors();
  ensureHome();
  const environment = { ...process.env };
  const fileWarnings = loadSettingsFile();
  // With this mask, only this user can read the files that the service writes. The API processes inherit it.
  process.umask(0o077);
  const settings = readSettings(process.env);
  const log = createLog(settings.http.LOG_LEVEL, { process: 'primary' });
  const allocator = chooseAllocator(settings.processes.ALLOCATOR);
  checkBrowserPath(settings.renders.BROWSER_PATH);
  const misspelt = misspeltSettings(process.env);
  for (const warning of [
    ...fileWarnings,
    ...misspelt,
    ...settingsWarnings(settings),
    ...(await sandboxWarnings(settings)),
  ])
    log.warn(warning);

  const { HOST, PORT, METRICS_PORT } = settings.http;
  const chosenPort = await checkListenAddress(HOST, PORT);
  if (METRICS_PORT !== 0) await checkListenAddress(HOST, METRICS_PORT, 'METRICS_PORT');

  const host = new PrimaryChannelHost();
  const primary = await openPrimary(settings, host, log);
  const { hostId, stores, capacity } = primary;
  const countRestart = declareRestartCounter();
  const collect = provideMetrics(primary, host);
  const admin = await openAdmin(primary);

  setUpForks();
  const history = new LoadHistory();
  const recorder = new LoadRecorder({ hostId, history, readOwn: takeLoadSnapshot, nowMs: Date.now });
  const supervisor: Supervisor = new Supervisor({
    ...supervisorOptionsOf(primary),
    environment: createForkEnvironment(primary, allocator.environment, chosenPort),
    onDeath: (reason, processId) => {
      countRestart(reason);
      reporter.recordRestart(reason, processId);
    },
  });
  const reporter = new HostReporter({
    hostId,
    history,
    recorder,
    hangTimeoutMs: settings.processes.HANG_TIMEOUT_MS,
    processes: () => supervisor.processes(),
    settings: () => capacity.values(),
    nowMs: Date.now,
  });
  recordLoad(recorder, log);
  const stop = async () => {
    await supervisor.stop();
    await admin?.close();
    await stores.close();
    log.info('stopped');
    process.exit(0);
  };
  const stopping = stopOnSignals(stop, log);

  // The first account is created before the first call can arrive. If the start fails afterwards, the next start prints
  // new secrets.
  const firstStart = await makeFirstAccount(settings, stores, hostId);
  if (firstStart === null && settings.accounts.BOOTSTRAP_API_KEY !== '')
    log.info('BOOTSTRAP_* has no effect: there is an account already.');
  const port = await supervisor.start().catch((error) => {
    if (stopping.aborted) return null;
    throw error;
  });
  // A signal has stopped the service during its start.
  if (port === null) return;
  replaceOnReload({ supervisor, reporter, log, environment });
  if (METRICS_PORT !== 0)
    await serveMetrics({ collect, port: METRICS_PORT, token: settings.http.METRICS_TOKEN }, HOST);
  const handle = createPrimaryControls({ ...primary, objects: stores.objects, supervisor, reporter });
  await answerControls(stores.coordination, { hostId, processId: PRIMARY_PROCESS_ID }, handle);
  const { PROCESSES: processes } = settings.processes;
  log.info(processCountSentence(processes, Boolean(process.env.PROCESSES)));
  log.info({ host: HOST, port, processes, allocator: allocator.name }, 'listening');
  const url = settings.http.PUBLIC_URL || `http://${HOST}:${port}`;
  await printWelcome(primary, { url, firstStart, mustOpen: words.includes('--open') });
  // The start is announced only after the first key is printed, so that a program that waits for the start can read the
  // key.
  supervisor.announceStart();
}

/**
 * Opens the stores, and prepares what the primary needs. The start ends with a message if a store is unreachable,
 * damaged or of another deployment.
 */
async function openPrimary(settings: Settings, host: PrimaryChannelHost, log: Logger): Promise<Primary> {
  await verifyStoreServers(settings.stores);
  const stores = await openStores(settings.stores, host, log);
  await Promise.all([stores.documents.ping(), stores.coordination.ping()]);
  await prepareCollections(stores.documents, COLLECTIONS, { log, clock: systemClock });
  const signatures = await LinkSigner.open(stores.documents);
  const deployment = deploymentFingerprint(signatures, settings.stores);
  const settingFingerprints = deploymentSettingFingerprints(signatures, settings);
  if (!hasEmbeddedStores(settings.stores)) {
    const { REDIS_PREFIX: prefix } = settings.stores;
    await holdRedisPrefix(stores.coordination, { mark: deployment, prefix, log });
  }
  if (hasEmbeddedStores(settings.stores)) {
    // API processes end with the primary whose stores they use. All leases that are found now therefore belong to
    // processes that have ended.
    const { items, jobs } = jobStoresOf(stores.documents, () => new Date());
    const billing = new BillingStore(stores.documents);
    await Promise.all([items.endAllLeases(), jobs.expireSubmits(), billing.releaseReservations()]);
  }
  const capacity = new Capacity({
    ...{ ...settings.processes, ...settings.images, ...settings.renders },
    ...{ ...settings.jobs, ...settings.webhooks },
  });
  const hostId = randomText(12);
  return { settings, log, hostId, stores, deployment, settingFingerprints, capacity };
}

/**
 * Lets the API processes read the metrics of the host.
 * @returns the function that collects them.
 */
function provideMetrics({ settings }: Primary, host: PrimaryChannelHost): () => Promise<string> {
  const metrics = createMetricsCollection();
  const { DATA_DIR, STORAGE_RESERVE_MEGABYTES } = settings.stores;
  const reserveBytes = STORAGE_RESERVE_MEGABYTES * MEGABYTE_BYTES;
  installHostMetrics({
    version: packageJson.version,
    cores: grantedCores(),
    readDisk: async () => {
      const space = await readDiskSpace(DATA_DIR);
      return { freeBytes: space.freeBytes, reservedBytes: reservedBytesOf(reserveBytes, space) };
    },
  });
  // The register of the primary has the metrics of the host and of the restarts.
  const collect = async () => `${await metrics()}${await register.metrics()}`;
  host.provide('metrics', collect);
  return collect;
}

/**
 * Lets the operator's commands run in this process if it has the embedded stores. Null on other stores, which the
 * commands open themselves.
 */
async function openAdmin({ settings, stores, log }: Primary): Promise<{ close(): Promise<void> } | null> {
  if (!hasEmbeddedStores(settings.stores)) return null;
  return openAdminSocket(settings.stores.DATA_DIR, createStoresContext(settings, stores), (error) =>
    log.warn({ err: error }, 'A command of the operator could not connect'),
  );
}

function setUpForks(): void {
  cluster.setupPrimary({
    exec: new URL('./server.ts', import.meta.url).pathname,
    execArgv: [
      ...process.execArgv,
      // Node warns when it strips the types from the files for browsers.
      '--disable-warning=ExperimentalWarning',
      ...v8HeapOptions(process.env.NODE_OPTIONS ?? ''),
    ],
  });
}

/** Makes the function that returns the environment variables of the next API process. */
function createForkEnvironment(
  { settings, hostId, deployment, capacity }: Primary,
  ofAllocator: Readonly<Record<string, string>>,
  chosenPort: number,
): () => Record<string, string> {
  const startedAt = new Date().toISOString();
  let forked = 0;
  return () => {
    forked += 1;
    return {
      ...ofAllocator,
      DARKROOM_HOST_ID: hostId,
      DARKROOM_STARTED_AT: startedAt,
      DARKROOM_DEPLOYMENT: deployment,
      DARKROOM_PROCESS_ID: String(forked),
      // With PORT=0, a process that replaces the only one would choose a new port, although another one was printed.
      PORT: String(chosenPort),
      // The first process writes a code cache before it listens. With the cache, later starts take half the CPU time.
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(settings.stores.DATA_DIR, 'compile-cache'),
      UV_THREADPOOL_SIZE: process.env.UV_THREADPOOL_SIZE ?? String(libuvThreadCount(capacity)),
    };
  };
}

function supervisorOptionsOf(primary: Primary): Omit<SupervisorOptions, 'environment' | 'onDeath'> {
  const { settings, log } = primary;
  return {
    processes: settings.processes.PROCESSES,
    drainTimeoutMs: settings.processes.DRAIN_TIMEOUT_MS,
    hangTimeoutMs: settings.processes.HANG_TIMEOUT_MS,
    log,
    onGone: (processId) => releaseLeases(primary, processId),
    onHopeless: (reason) => {
      log.fatal(reason);
      process.exit(1);
    },
  };
}

/**
 * Releases what a process that has ended held: its slots, its webhook endpoints, its job items, its submits and its
 * runs.
 */
function releaseLeases({ stores, hostId, log }: Primary, processId: number): void {
  const { coordination, documents } = stores;
  const name = `${hostId}/${processId}`;
  const holders = `${name}/`;
  const { items, jobs } = jobStoresOf(documents, () => new Date());
  const billing = new BillingStore(documents);
  const giveBack = () =>
    Promise.all([
      coordination.releaseSlotsByPrefix(holders),
      releaseEndpointsByHolder(coordination, holders),
      items.endLeases(name),
      jobs.expireSubmits(name),
      billing.releaseReservations(name),
    ]);
  retryUntilLeaseEnds(giveBack, MAX_LEASE_MS).catch((error) =>
    log.warn({ err: error }, 'The leases of a dead process could not be released: they expire by themselves'),
  );
}

/** Prints the address of the service, and on a first start the first key. Opens the console if that was requested. */
async function printWelcome(
  { stores, log }: Primary,
  { url, firstStart, mustOpen }: { url: string; firstStart: BootstrapResult | null; mustOpen: boolean },
): Promise<void> {
  const accounts = new AccountsStore(stores.documents);
  const signInAddress =
    firstStart !== null || mustOpen ? await createSignInAddress(accounts, url, { now: new Date() }) : null;
  const wasPrinted = await printToStdout(welcomeText(url, firstStart, signInAddress));
  if (mustOpen && signInAddress !== null) openInBrowser(signInAddress, log);
  if (wasPrinted) await firstStart?.finish();
  else if (firstStart !== null)
    process.stderr.write('Nobody read the first key and password: the next start prints new ones.\n');
}

/** The warnings about settings that reduce protection, or that need more cores than the host has. */
function settingsWarnings({ outbound, processes }: Settings): string[] {
  const warnings: string[] = [];
  if (outbound.OUTBOUND_ALLOWED_SUBNETS.length > 0)
    warnings.push(
      `OUTBOUND_ALLOWED_SUBNETS lets callers reach ${process.env.OUTBOUND_ALLOWED_SUBNETS} through this service.`,
    );
  if (outbound.OUTBOUND_ALLOW_HTTP)
    warnings.push('OUTBOUND_ALLOW_HTTP lets webhooks go to plain http and to any port.');
  const cores = grantedCores();
  if (processes.PROCESSES > Math.max(1, cores))
    warnings.push(`PROCESSES is ${processes.PROCESSES} on ${cores} cores: they will share them.`);
  return warnings;
}

/**
 * A warning if the browser cannot have its sandbox. Templates contain callers' HTML, and the sandbox is a second
 * protection against it.
 */
async function sandboxWarnings({ renders }: Settings): Promise<string[]> {
  const obstacle = await findSandboxObstacle();
  if (obstacle === null) return [];
  const follows =
    renders.RENDER_SANDBOX === 'required'
      ? 'renders are refused, because RENDER_SANDBOX is required'
      : 'templates are drawn without it (RENDER_SANDBOX=required refuses them instead)';
  return [`Chromium cannot have its sandbox, because ${obstacle}: ${follows}.`];
}

async function makeFirstAccount({ accounts }: Settings, { documents, coordination }: Stores, hostId: string) {
  const movements = new CreditMovements(new BillingStore(documents), () => new Date());
  const grant = async (accountId: string, credits: number) => {
    const note = 'first start';
    await movements.move(accountId, { reference: 'bootstrap', type: 'grant', credits, heldChange: 0, note });
  };
  return bootstrapFirstAccount({
    store: new AccountsStore(documents),
    settings: accounts,
    grant,
    mayCreate: () => coordination.lease('bootstrap', hostId, BOOTSTRAP_LEASE_MS),
    now: new Date(),
  });
}

try {
  await main();
} catch (error) {
  const sentences = error instanceof SettingsError ? error.violations : [(error as Error).message];
  process.stderr.write(`${sentences.join('\n')}\n`);
  process.exit(1);
}
