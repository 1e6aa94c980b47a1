import cluster, { type Worker } from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type Clock, systemClock } from '../../platform/clock.ts';
import type { RestartReason } from '../../platform/metrics/restarts.ts';
import { createBalance } from './balance.ts';
import {
  cannotRescue,
  type HandedConnections,
  stopListening,
  watchConnections,
} from './handed-connections.ts';
import { createHeartbeats } from './heartbeats.ts';

/** A process that lived at least this long was healthy, so its replacement will probably live as well. */
const HEALTHY_MS = 5_000;
const FIRST_DELAY_MS = 100;
const MAX_DELAY_MS = 10_000;
/** The timeout of a start, after which a process is killed and replaced. */
const START_TIMEOUT_MS = 60_000;
/** The number of early deaths in a row, over all processes, after which no process is started again. */
const MAX_EARLY_EXITS = 8;
/** The attempts to start a replacement, and the pause between two of them. */
const REPLACE_TRIES = 3;
const REPLACE_PAUSE_MS = 1_000;

export interface SupervisorOptions {
  processes: number;
  drainTimeoutMs: number;
  /** The time without a heartbeat after which a process counts as hung. */
  hangTimeoutMs: number;
  /** The environment of an API process. */
  environment: () => Record<string, string>;
  log: Logger;
  clock?: Clock;
  /** Called when a process has ended, to return what it held. */
  onGone: (processId: number) => void;
  /** Called when a process ended unexpectedly and is replaced. */
  onDeath: (reason: RestartReason) => void;
  /** Called when no process stays alive. */
  onHopeless: (reason: string) => void;
}

export interface Supervisor {
  /**
   * Resolves with the port when every process listens, or when one does and the start of the others timed out; those
   * are started again. Rejects when it is stopped before.
   */
  start(): Promise<number>;
  /**
   * Replaces the processes one by one: the new one listens before the old one drains. A process whose replacement does
   * not start after several attempts stays, which is logged as an error; the others are still replaced.
   */
  replaceAll(): Promise<void>;
  /**
   * Replaces one process: the new one listens before the old one drains.
   * @returns false when no process has this id.
   * @throws Error when no replacement starts; the process then stays.
   */
  replace(processId: number): Promise<boolean>;
  /** Changes the number of processes: starts more, or drains the oldest. Resolves when this is done. */
  resize(processes: number): Promise<void>;
  /** Stops listening, then drains every process, and resolves when all have ended. */
  stop(): Promise<void>;
}

/** Messages between the primary and an API process, besides those of the channel. */
export type ProcessMessage =
  | { type: 'listening'; port: number }
  /** `load`: the mean number of concurrent calls since the previous message. */
  | { type: 'alive'; load: number }
  /** The given number of next answers close their connections. */
  | { type: 'release'; connections: number }
  | { type: 'drain' };

/**
 * Keeps a number of API processes alive. A dead one is replaced: at once after a healthy life, with a doubling delay
 * when it died young. The successor of a live process counts only once it listens: if it dies before, it
 * is not missed.
 */
export function createSupervisor(options: SupervisorOptions): Supervisor {
  const { log, clock = systemClock } = options;
  const unknownNode = cannotRescue();
  if (unknownNode !== null) log.error(unknownNode);
  /** The live processes with their start times. */
  const startedMs = new Map<Worker, number>();
  const connections = new Map<Worker, HandedConnections>();
  /** Processes that drain; their exit is expected. */
  const leaving = new Set<Worker>();
  /** Processes that take connections. */
  const serving = new Set<Worker>();
  /** Processes that took connections until they hung. */
  const hung = new Set<Worker>();
  const heartbeats = createHeartbeats<Worker>({
    timeoutMs: options.hangTimeoutMs,
    onSilent: killHung,
    clock,
  });
  const balance = createBalance<Worker>({
    release: (worker, connections) => send(worker, { type: 'release', connections }),
    clock,
  });
  /** The successor of each process that is being replaced, while both live. */
  const successors = new Map<Worker, Worker>();
  let target = options.processes;
  let earlyExits = 0;
  let stopping = false;
  let stopStarting: () => void = () => {};
  /** Called with its port when a process begins to listen. */
  let whenServing: (port: number) => void = () => {};
  let replacing: Promise<void> = Promise.resolve();

  /** Starts a process. `listening` rejects when it has ended, or is killed, before it listens. */
  function fork(): { worker: Worker; listening: Promise<void> } {
    const worker = cluster.fork(options.environment());
    const { promise: listening, resolve, reject } = Promise.withResolvers<void>();
    // The successor of a dead process is not awaited.
    listening.catch(() => undefined);
    startedMs.set(worker, clock.elapsedMs());
    worker.on('error', (error) =>
      log.warn({ err: error, processId: worker.id }, 'A message to a process failed'),
    );
    const tooSlow = setTimeout(() => {
      log.error({ processId: worker.id }, 'An API process did not listen in time and is killed');
      worker.process.kill('SIGKILL');
      reject(new Error('An API process did not listen in time.'));
    }, START_TIMEOUT_MS).unref();
    worker.on('message', (message: ProcessMessage) => {
      if (message.type === 'alive') {
        heartbeats.beat(worker);
        if (serving.has(worker)) balance.report(worker, message.load);
      }
      if (message.type !== 'listening') return;
      clearTimeout(tooSlow);
      serving.add(worker);
      heartbeats.watch(worker);
      balance.watch(worker);
      whenServing(message.port);
      resolve();
    });
    connections.set(
      worker,
      watchConnections(worker, () => serving.size > 0),
    );
    worker.once('exit', (code, signal) => {
      clearTimeout(tooSlow);
      onExit(worker, code, signal);
      reject(new Error('An API process ended before it listened.'));
    });
    return { worker, listening };
  }

  /** Kills a hung process, unless it drains: a drain has its own deadline. */
  function killHung(worker: Worker): void {
    if (leaving.has(worker)) return;
    log.error({ processId: worker.id }, 'An API process hangs: it is killed and replaced');
    serving.delete(worker);
    hung.add(worker);
    worker.process.kill('SIGKILL');
  }

  function onExit(worker: Worker, code: number | null, signal: string | null): void {
    heartbeats.forget(worker);
    balance.forget(worker);
    const wasHung = hung.delete(worker);
    const everServed = serving.delete(worker) || wasHung;
    const livedMs = clock.elapsedMs() - (startedMs.get(worker) ?? 0);
    startedMs.delete(worker);
    connections.delete(worker);
    // When a process dies while its successor starts, no other one is started.
    successors.delete(worker);
    options.onGone(worker.id);
    if (leaving.delete(worker) || stopping) return;
    log.error(
      { processId: worker.id, pid: worker.process.pid, code, signal, livedMs },
      'An API process died',
    );
    const endedBy = signal === null ? 'exit' : 'signal';
    options.onDeath(wasHung ? 'hung' : endedBy);
    earlyExits = everServed && livedMs >= HEALTHY_MS ? 0 : earlyExits + 1;
    if (earlyExits >= MAX_EARLY_EXITS && serving.size === 0) {
      options.onHopeless(
        `${earlyExits} API processes in a row died within ${HEALTHY_MS / 1000} s of their start, or before they listened (last: ${signal ?? `exit ${code}`}); the log lines above say why.`,
      );
      return;
    }
    setTimeout(() => !stopping && counted().length < target && fork(), delayAfter(earlyExits));
  }

  async function drain(worker: Worker): Promise<void> {
    if (worker.isDead()) return;
    leaving.add(worker);
    serving.delete(worker);
    balance.forget(worker);
    const gone = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
    send(worker, { type: 'drain' });
    // The process ends itself after its calls; the margin covers the closing of its pools.
    const tooLong = sleep(options.drainTimeoutMs + 5_000, 'late', { ref: false });
    if ((await Promise.race([gone, tooLong])) === 'late') {
      log.warn({ processId: worker.id }, 'An API process did not drain in time and is killed');
      worker.process.kill('SIGKILL');
      await gone;
    }
  }

  /** @throws Error when no successor listened after all attempts. */
  async function replaceOne(old: Worker): Promise<void> {
    for (let tries = 1; !stopping && !old.isDead(); tries += 1) {
      const { worker, listening } = fork();
      successors.set(old, worker);
      try {
        await listening;
        successors.delete(old);
        return await drain(old);
      } catch (error) {
        successors.delete(old);
        if (tries >= REPLACE_TRIES && !old.isDead()) throw error;
        log.warn({ err: error, processId: old.id }, 'A replacement did not start; it is tried again');
      }
      await sleep(REPLACE_PAUSE_MS);
    }
  }

  async function replaceEach(): Promise<void> {
    const kept: number[] = [];
    const before = current();
    for (const old of before) {
      if (leaving.has(old)) continue;
      await replaceOne(old).catch((error) => {
        kept.push(old.id);
        log.error(
          { err: error, processId: old.id },
          `No replacement of an API process started in ${REPLACE_TRIES} tries: it stays as it was`,
        );
      });
    }
    if (kept.length < before.length)
      log.info(
        { before: idsOf(before), after: idsOf(current()) },
        `${before.length - kept.length} of ${before.length} API processes were replaced one by one`,
      );
    if (kept.length > 0)
      log.error(
        { processIds: kept },
        `${kept.length} API processes were not replaced: fix the cause in the log lines above, and send SIGHUP again`,
      );
  }

  function current(): Worker[] {
    return [...startedMs.keys()].filter((worker) => !leaving.has(worker) && !worker.isDead());
  }

  /** The processes that count towards the target number. */
  function counted(): Worker[] {
    const starting = new Set(successors.values());
    return current().filter((worker) => !starting.has(worker));
  }

  /** Runs work after the previous replacement has ended or failed. */
  function queued<T>(work: () => Promise<T>): Promise<T> {
    const done = replacing.then(work);
    replacing = done.then(
      () => undefined,
      (error) => log.error({ err: error }, 'A replacement failed'),
    );
    return done;
  }

  async function resizeTo(processes: number): Promise<void> {
    target = processes;
    const missing = Math.max(0, target - current().length);
    await Promise.all(Array.from({ length: missing }, () => fork().listening));
    await Promise.all(
      current()
        .slice(0, current().length - target)
        .map(drain),
    );
  }

  return {
    start() {
      const { promise, resolve, reject } = Promise.withResolvers<number>();
      let isLate = false;
      let firstPort: number | undefined;
      whenServing = (port) => {
        if (isLate || serving.size >= options.processes) resolve(port);
        firstPort ??= port;
      };
      const timeout = setTimeout(() => {
        isLate = true;
        if (firstPort !== undefined) resolve(firstPort);
      }, START_TIMEOUT_MS);
      stopStarting = () => reject(new Error('The service was stopped while it started.'));
      for (let count = 0; count < options.processes; count += 1) fork();
      return promise.finally(() => clearTimeout(timeout));
    },
    replaceAll() {
      return queued(replaceEach).catch(() => undefined);
    },
    replace: (processId) =>
      queued(async () => {
        const old = current().find(({ id }) => id === processId);
        if (old === undefined) return false;
        await replaceOne(old);
        return true;
      }),
    resize: (processes) => queued(() => resizeTo(processes)),
    async stop() {
      stopping = true;
      stopStarting();
      await stopListening([...connections.values()]);
      await Promise.all([...startedMs.keys()].map(drain));
    },
  };
}

function idsOf(workers: readonly Worker[]): number[] {
  return workers.map(({ id }) => id);
}

function send(worker: Worker, message: ProcessMessage): void {
  if (worker.isConnected()) worker.send(message);
}

/** 0, 100, 200, 400 … 10,000 ms. */
function delayAfter(earlyExits: number): number {
  if (earlyExits === 0) return 0;
  return Math.min(FIRST_DELAY_MS * 2 ** (earlyExits - 1), MAX_DELAY_MS);
}
