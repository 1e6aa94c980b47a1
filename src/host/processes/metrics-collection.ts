import cluster, { type Worker } from 'node:cluster';
import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue, register } from 'prom-client';
import { PacedWork } from '../../platform/queues.ts';

type ProcessMetrics = MetricObjectWithValues<MetricValue<string>>[];

/** The messages for the metrics of an API process. A process that ends sends its last metrics without an id. */
type MetricsMessage =
  | { type: 'collectMetrics'; id: number }
  | { type: 'metrics'; id: number | null; metrics: ProcessMetrics };

/** The timeout of the answer of a process. A busy process takes some milliseconds. */
const METRICS_ANSWER_TIMEOUT_MS = 2_000;

/**
 * Collects the metrics of all API processes of a host. Each primary has one collection.
 * @returns a function that returns the metrics of all processes in the format of Prometheus. Counters include those of
 * ended processes, so that no counter ever falls. For a process that does not answer in time, its last metrics are
 * used. Callers that wait at the same time share a collection, and a pause follows each one: adding up the metrics
 * blocks the primary, which keeps the embedded stores, and by default everybody may ask for them.
 */
export function createMetricsCollection(): () => Promise<string> {
  /** The last metrics that each live process has sent. */
  const latest = new Map<Worker, ProcessMetrics>();
  /** The counters of all processes that have ended. */
  let ended: ProcessMetrics = [];
  const waiting = new Map<string, () => void>();
  let lastId = 0;

  cluster.on('message', (worker, message: MetricsMessage) => {
    if (message?.type !== 'metrics') return;
    latest.set(worker, message.metrics);
    waiting.get(`${worker.id}/${message.id}`)?.();
  });
  cluster.on('exit', (worker) => {
    const last = latest.get(worker);
    latest.delete(worker);
    if (last !== undefined) ended = sumMetrics([ended, last.filter(isCumulative)]);
  });

  /** Asks a process for its metrics. Resolves when the process has answered, or the time is over. */
  function ask(worker: Worker): Promise<void> {
    lastId += 1;
    const id = lastId;
    const key = `${worker.id}/${id}`;
    return new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, METRICS_ANSWER_TIMEOUT_MS);
      waiting.set(key, resolve);
      worker.send({ type: 'collectMetrics', id } satisfies MetricsMessage, () => undefined);
      timer.unref();
    }).finally(() => waiting.delete(key));
  }

  async function collect(): Promise<string> {
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker?.isConnected());
    await Promise.all(workers.map((worker) => worker && ask(worker)));
    return AggregatorRegistry.aggregate([ended, ...latest.values()]).metrics();
  }

  const turns = new PacedWork();
  /** The collection that waits for its turn. */
  let next: Promise<string> | undefined;

  async function collectInTurn(): Promise<string> {
    const endTurn = await turns.takeTurn('');
    next = undefined;
    return collect().finally(endTurn);
  }

  return () => {
    next ??= collectInTurn();
    return next;
  };
}

/**
 * Sends the metrics of an API process to the primary on request.
 * @returns a function that sends the last metrics, before the process ends.
 */
export function answerMetricsRequests(): () => Promise<void> {
  async function send(id: number | null): Promise<void> {
    const metrics = (await register.getMetricsAsJSON()) as ProcessMetrics;
    const message: MetricsMessage = { type: 'metrics', id, metrics };
    await new Promise<void>((resolve) => {
      if (process.send === undefined || !process.connected) resolve();
      else process.send(message, undefined, undefined, () => resolve());
    });
  }
  process.on('message', (message: MetricsMessage) => {
    if (message.type === 'collectMetrics') void send(message.id).catch(() => undefined);
  });
  return () => send(null).catch(() => undefined);
}

/** Whether a metric adds up over processes and time, as counters and histograms do. A gauge ends with its process. */
function isCumulative({ type, aggregator }: ProcessMetrics[number]): boolean {
  return String(type) !== 'gauge' && aggregator === 'sum';
}

function sumMetrics(parts: ProcessMetrics[]): ProcessMetrics {
  const registry = AggregatorRegistry.aggregate(parts);
  return registry
    .getMetricsAsArray()
    .map((metric) => (metric as unknown as { get(): ProcessMetrics[number] }).get());
}
