import { flushCompileCache } from 'node:module';
import { readSettings } from '../../config/index.ts';
import { PrimaryChannel } from '../platform/stores/embedded/channel.ts';
import { connectStores, hasEmbeddedStores } from '../platform/stores/open.ts';
import { openTracing } from '../platform/tracing/open.ts';
import { type App, buildApp } from './app.ts';
import { LOAD_SAMPLE_INTERVAL_MS } from './operator/history.ts';
import { HEARTBEAT_INTERVAL_MS } from './processes/heartbeats.ts';
import { createLog } from './processes/log.ts';
import type { ProcessMessage } from './processes/messages.ts';
import { answerMetricsRequests } from './processes/metrics-collection.ts';
import { waitAsSpare } from './processes/spare.ts';
import { surviveOutputErrors } from './processes/terminal.ts';

/**
 * One API process, started by the primary. It waits until it is needed, and then opens the stores and listens on the
 * port that all processes share. It ends when it is asked to drain, or when the primary is gone.
 */
const processId = process.env.DARKROOM_PROCESS_ID ?? '0';
/**
 * The process that writes the code cache for all later processes. Without a cache, a start takes half a second longer.
 */
const FIRST_PROCESS_ID = '1';
let isDraining = false;
let isStarted = false;
let serving: App | null = null;
const needed = Promise.withResolvers<void>();
process.on('message', (message: ProcessMessage) => {
  if (message.type === 'serve') needed.resolve();
  if (message.type === 'started') isStarted = true;
  if (message.type === 'release') serving?.connections.releaseConnections(message.connections);
  if (message.type !== 'drain' || isDraining) return;
  isDraining = true;
  void drain();
});
// An error here means that the primary has ended; this process ends with its channel.
process.on('error', () => undefined);
// Terminals and tools send these signals to all processes of the service at once, but the primary decides when this
// process ends. Node itself would open a port for debuggers at SIGUSR1.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'])
  process.on(signal, () => undefined);
surviveOutputErrors();
const sendLastMetrics = answerMetricsRequests();

const cpuUsageBefore = await waitAsSpare(needed.promise);
const settings = readSettings(process.env);
const tracing = await openTracing(process.env);
const traceIds = tracing.isOn ? tracing.ids : undefined;
const log = createLog(settings.http.LOG_LEVEL, { process: Number(processId) }, traceIds);
const channel = new PrimaryChannel();
const stores = await connectStores(settings.stores, channel, log);

const collectMetrics = async () => String(await channel.call('metrics', 'collect', []));
const app = await buildApp({
  settings,
  stores,
  log,
  hostId: process.env.DARKROOM_HOST_ID ?? 'host',
  processId,
  deployment: process.env.DARKROOM_DEPLOYMENT ?? '',
  now: () => new Date(),
  ...(hasEmbeddedStores(settings.stores) && {
    storesOpenedAt: new Date(process.env.DARKROOM_STARTED_AT ?? 0),
  }),
  tracing,
  collectMetrics,
  isStarted: () => isStarted,
});

serving = app;
// Node writes its code cache only at a regular exit. Without this call, a process that replaces a killed one would have
// no cache.
if (processId === FIRST_PROCESS_ID) flushCompileCache();
const address = await app.server.listen({ host: settings.http.HOST, port: settings.http.PORT });
const { port } = new URL(address);
const { user, system } = process.cpuUsage(cpuUsageBefore);
sendToPrimary({ type: 'listening', port: Number(port), cpuMs: Math.round((user + system) / 1_000) });
// Image threads that start earlier would compete with this start for the CPU, and other processes wait for this start.
app.warmUp();
setInterval(
  () => sendToPrimary({ type: 'alive', load: app.connections.measureLoad() }),
  HEARTBEAT_INTERVAL_MS,
).unref();

const sendLoad = async () => sendToPrimary({ type: 'load', snapshot: await app.readLoad() });
setInterval(() => void sendLoad().catch(() => undefined), LOAD_SAMPLE_INTERVAL_MS).unref();

/** Ends the process after its calls. A process that does not listen yet ends at once. */
async function drain(): Promise<void> {
  if (serving === null) process.exit(0);
  await serving.drain(settings.processes.DRAIN_TIMEOUT_MS);
  await stores.close();
  await tracing.close().catch(() => undefined);
  await sendLastMetrics();
  process.exit(0);
}

function sendToPrimary(message: ProcessMessage): void {
  process.send?.(message, undefined, undefined, () => undefined);
}
