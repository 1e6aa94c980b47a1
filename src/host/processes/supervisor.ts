import cluster, { type Worker } from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type Clock, systemClock } from '../../platform/clock.ts';
import type { RestartReason } from '../../platform/metrics/host.ts';
import { ConnectionBalancer } from './connection-balancer.ts';
import {
  type HandedConnections,
  rescueConnections,
  stopListening,
  untestedNodeWarning,
} from './handed-connections.ts';
import { Heartbeats } from './heartbeats.ts';
import { deathSentence, MemoryKillDetector } from './memory-kills.ts';
import { type ProcessMessage, sendToProcess } from './messages.ts';
import { SPARE_PROCESS_ARGUMENT, SpareProcess } from './spare.ts';

/** A process that lived at least this long counts as healthy, so its replacement probably will be too. */
const MIN_HEALTHY_LIFE_MS = 5_000;
const FIRST_RESTART_DELAY_MS = 100;
const MAX_RESTART_DELAY_MS = 10_000;
/** The timeout of a start. A process that exceeds it is killed and replaced. */
const START_TIMEOUT_MS = 60_000;
/** The number of consecutive early deaths, over all processes, after which no process is started again. */
const MAX_EARLY_EXITS = 8;
/** The number of attempts to start a replacement, and the pause between attempts. */
const MAX_REPLACEMENT_TRIES = 3;
const REPLACEMENT_RETRY_PAUSE_MS = 1_000;
export interface SupervisorOptions {
  processes: number;
  drainTimeoutMs: number;
  /** The time without a heartbeat after which a process counts as hung. */
  hangTimeoutMs: number;
  /** Returns the environment variables of an API process that is about to start. */
  environment: () => Record<string, string>;
  log: Logger;
  clock?: Clock;
  /** Called when a process has ended, to release what it held. */
  onGone: (processId: number) => void;
  /** Called when a process ended unexpectedly and is replaced. */
  onDeath: (reason: RestartReason, processId: number) => void;
  /** Called when processes die so often that no process is started again. */
  onHopeless: (reason: string) => void;
}

/** A live process, as the supervisor knows it. */
export interface SupervisedProcess {
  processId: number;
  pid: number;
  /** Whether the process takes connections. */
  isServing: boolean;
  silentMs: number;
  uptimeSeconds: number;
}

/** What the supervisor keeps of a process, from the moment when it is to serve until its end. */
interface ProcessRecord {
  startedMs: number;
  connections: HandedConnections;
  /** `serving`: it takes connections. `hung`: it did until it hung. `leaving`: it drains, and its exit is expected. */
  state: 'starting' | 'serving' | 'hung' | 'leaving';
  /** The live process that it replaces. Until it listens, it does not count towards the number of processes. */
  replaces: Worker | undefined;
}

/**
 * Keeps a number of API processes alive. A process that dies after a healthy life is replaced at once. After an early
 * death, the replacement waits for a delay that doubles each time. The replacement is the spare process. It has loaded
 * its modules, which takes seconds of CPU time under full load, but has opened neither stores nor a port. A process
 * that replaces a live one counts towards the number only once it listens.
 */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #clock: Clock;
  /** The live processes except for the spare one. */
  readonly #records = new Map<Worker, ProcessRecord>();
  readonly #heartbeats: Heartbeats<Worker>;
  readonly #balancer: ConnectionBalancer<Worker>;
  readonly #spare: SpareProcess;
  readonly #memoryKillDetector: MemoryKillDetector;
  #target: number;
  #earlyExits = 0;
  #isStarted = false;
  #stopping = false;
  #stopStarting: () => void = () => {};
  /** Called with the port when a process begins to listen. */
  #whenServing: (port: number) => void = () => {};
  #replacing: Promise<void> = Promise.resolve();

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    const unknownNode = untestedNodeWarning();
    if (unknownNode !== null) options.log.error(unknownNode);
    this.#heartbeats = new Heartbeats<Worker>({
      timeoutMs: options.hangTimeoutMs,
      onSilent: (worker) => this.#killHung(worker),
      clock: this.#clock,
    });
    this.#balancer = new ConnectionBalancer<Worker>({
      release: (worker, connections) => sendToProcess(worker, { type: 'release', connections }),
      clock: this.#clock,
    });
    this.#spare = new SpareProcess(() => this.#create(true), this.#clock);
    this.#memoryKillDetector = new MemoryKillDetector(this.#clock);
    this.#target = options.processes;
  }

  /**
   * Resolves with the port when every process listens, or when one listens and the start of the others has timed out;
   * those are started again. Rejects when the supervisor is stopped first.
   */
  start(): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    let isLate = false;
    let firstPort: number | undefined;
    this.#whenServing = (port) => {
      if (isLate || this.#servingWorkers().length >= this.#options.processes) resolve(port);
      firstPort ??= port;
    };
    const timeout = setTimeout(() => {
      isLate = true;
      if (firstPort !== undefined) resolve(firstPort);
    }, START_TIMEOUT_MS);
    this.#stopStarting = () => reject(new Error('The service was stopped while it started.'));
    for (let count = 0; count < this.#options.processes; count += 1) this.#fork();
    return promise.finally(() => clearTimeout(timeout));
  }

  /** Tells every process, and each process that listens later, that the service has started. */
  announceStart(): void {
    this.#isStarted = true;
    this.#spare.keep();
    for (const worker of this.#servingWorkers()) sendToProcess(worker, { type: 'started' });
  }

  /**
   * Replaces the processes one by one: the new one listens before the old one drains. A process whose replacement does
   * not start after several attempts stays, which is logged as an error. The others are still replaced.
   */
  replaceAll(): Promise<void> {
    this.renewSpare();
    return this.#queueReplacement(() => this.#replaceEach()).catch(() => undefined);
  }

  /**
   * Replaces one process: the new one listens before the old one drains.
   * @returns false when no process has this id.
   * @throws Error when no replacement starts; the old process then stays.
   */
  replace(processId: number): Promise<boolean> {
    return this.#queueReplacement(async () => {
      const [old, record] = this.#liveProcesses().find(([{ id }]) => id === processId) ?? [];
      if (old === undefined || record === undefined) return false;
      await this.#replaceOne(old, record);
      return true;
    });
  }

  /** Replaces the spare process by one with the present settings. */
  renewSpare(): void {
    this.#spare.take()?.process.kill('SIGKILL');
  }

  /** Changes the number of processes: starts more, or drains the oldest. Resolves when the number is reached. */
  resize(processes: number): Promise<void> {
    return this.#queueReplacement(() => this.#resizeTo(processes));
  }

  /** Stops listening, then drains every process, and resolves when all have ended. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#stopStarting();
    this.#spare.end();
    await stopListening(Array.from(this.#records.values(), ({ connections }) => connections));
    await Promise.all(Array.from(this.#records, ([worker, record]) => this.#drain(worker, record)));
  }

  /** Every live process that does not drain. */
  processes(): SupervisedProcess[] {
    const nowMs = this.#clock.elapsedMs();
    return this.#liveProcesses().map(([worker, { state, startedMs }]) => ({
      processId: worker.id,
      pid: worker.process.pid ?? 0,
      isServing: state === 'serving',
      silentMs: Math.round(this.#heartbeats.silentMs(worker)),
      uptimeSeconds: Math.round((nowMs - startedMs) / 1_000),
    }));
  }

  /** Creates a process. A spare loads its modules and waits. */
  #create(isSpare = false): Worker {
    cluster.setupPrimary({ args: isSpare ? [SPARE_PROCESS_ARGUMENT] : [] });
    const worker = cluster.fork(this.#options.environment());
    worker.on('error', (error) =>
      this.#options.log.warn({ err: error, processId: worker.id }, 'A message to a process failed'),
    );
    worker.once('exit', (code, signal) => this.#onExit(worker, code, signal));
    return worker;
  }

  /**
   * Lets a process serve: a new one, or the spare. Resolves when it listens; rejects when it ends, or is killed, before
   * that.
   */
  #fork(worker = this.#create(), replaces?: Worker): Promise<void> {
    const { promise: listening, resolve, reject } = Promise.withResolvers<void>();
    // If the process replaces a dead one, nobody waits for `listening`, so its rejection is ignored.
    listening.catch(() => undefined);
    const startedMs = this.#clock.elapsedMs();
    const connections = rescueConnections(worker, () =>
      this.#servingWorkers().some((other) => other !== worker),
    );
    const record: ProcessRecord = { startedMs, connections, state: 'starting', replaces };
    this.#records.set(worker, record);
    sendToProcess(worker, { type: 'serve' });
    const tooSlow = setTimeout(() => {
      this.#options.log.error(
        { processId: worker.id },
        'An API process did not listen in time and is killed',
      );
      worker.process.kill('SIGKILL');
      reject(new Error('An API process did not listen in time.'));
    }, START_TIMEOUT_MS).unref();
    worker.on('message', (message: ProcessMessage) => {
      if (message.type === 'alive') {
        this.#heartbeats.beat(worker);
        if (record.state === 'serving') this.#balancer.report(worker, message.load);
      }
      if (message.type !== 'listening') return;
      clearTimeout(tooSlow);
      const afterMs = Math.round(this.#clock.elapsedMs() - startedMs);
      this.#options.log.info(
        { processId: worker.id, afterMs, cpuMs: message.cpuMs },
        'An API process listens',
      );
      if (record.state === 'starting') record.state = 'serving';
      record.replaces = undefined;
      if (this.#isStarted) sendToProcess(worker, { type: 'started' });
      this.#heartbeats.watch(worker);
      this.#balancer.watch(worker);
      this.#whenServing(message.port);
      resolve();
    });
    worker.once('exit', () => {
      clearTimeout(tooSlow);
      reject(new Error('An API process ended before it listened.'));
    });
    return listening;
  }

  /** Kills a hung process, unless it drains, because a drain has its own deadline. */
  #killHung(worker: Worker): void {
    const record = this.#records.get(worker);
    if (record === undefined || record.state === 'leaving') return;
    this.#options.log.error({ processId: worker.id }, 'An API process hangs: it is killed and replaced');
    record.state = 'hung';
    worker.process.kill('SIGKILL');
  }

  #onExit(worker: Worker, code: number | null, signal: string | null): void {
    if (this.#spare.is(worker)) {
      this.#options.log.warn({ processId: worker.id, code, signal }, 'The spare process ended');
      this.#spare.take();
    }
    const record = this.#records.get(worker);
    if (record === undefined) return;
    this.#heartbeats.forget(worker);
    this.#balancer.forget(worker);
    const { state, startedMs } = record;
    const livedMs = this.#clock.elapsedMs() - startedMs;
    this.#records.delete(worker);
    this.#options.onGone(worker.id);
    if (state === 'leaving' || this.#stopping) return;
    const reason = state === 'hung' ? 'hung' : this.#memoryKillDetector.deathReason(signal);
    const death = { processId: worker.id, pid: worker.process.pid, code, signal, livedMs };
    this.#options.log.error(death, deathSentence(reason));
    this.#options.onDeath(reason, worker.id);
    const wasHealthy = state !== 'starting' && livedMs >= MIN_HEALTHY_LIFE_MS;
    this.#earlyExits = wasHealthy ? 0 : this.#earlyExits + 1;
    if (this.#earlyExits >= MAX_EARLY_EXITS && this.#servingWorkers().length === 0) {
      this.#options.onHopeless(
        `${this.#earlyExits} API processes in a row died within ${MIN_HEALTHY_LIFE_MS / 1000} s of their start, or before they listened (last: ${signal ?? `exit ${code}`}); the log lines above say why.`,
      );
      return;
    }
    setTimeout(
      () => !this.#stopping && this.#countTowardsTarget() < this.#target && this.#fork(this.#spare.take()),
      restartDelayMs(this.#earlyExits),
    );
  }

  async #drain(worker: Worker, record: ProcessRecord): Promise<void> {
    if (worker.isDead()) return;
    record.state = 'leaving';
    this.#balancer.forget(worker);
    const gone = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
    sendToProcess(worker, { type: 'drain' });
    // The process ends itself after its calls. The margin covers the closing of its pools.
    const tooLong = sleep(this.#options.drainTimeoutMs + 5_000, 'late', { ref: false });
    if ((await Promise.race([gone, tooLong])) === 'late') {
      this.#options.log.warn({ processId: worker.id }, 'An API process did not drain in time and is killed');
      worker.process.kill('SIGKILL');
      await gone;
    }
  }

  /** @throws Error when no successor listened after several attempts. */
  async #replaceOne(old: Worker, record: ProcessRecord): Promise<void> {
    for (let tries = 1; !this.#stopping && !old.isDead(); tries += 1) {
      try {
        await this.#fork(undefined, old);
        return await this.#drain(old, record);
      } catch (error) {
        if (tries >= MAX_REPLACEMENT_TRIES && !old.isDead()) throw error;
        this.#options.log.warn(
          { err: error, processId: old.id },
          'A replacement did not start; it is tried again',
        );
      }
      await sleep(REPLACEMENT_RETRY_PAUSE_MS);
    }
  }

  async #replaceEach(): Promise<void> {
    const kept: number[] = [];
    const before = this.#liveProcesses();
    for (const [old, record] of before) {
      if (record.state === 'leaving') continue;
      await this.#replaceOne(old, record).catch((error) => {
        kept.push(old.id);
        const message = `No replacement of an API process started in ${MAX_REPLACEMENT_TRIES} tries: it stays as it was`;
        this.#options.log.error({ err: error, processId: old.id }, message);
      });
    }
    if (kept.length < before.length)
      this.#options.log.info(
        { before: idsOf(before), after: idsOf(this.#liveProcesses()) },
        `${before.length - kept.length} of ${before.length} API processes were replaced one by one`,
      );
    if (kept.length > 0)
      this.#options.log.error(
        { processIds: kept },
        `${kept.length} API processes were not replaced: fix the cause in the log lines above, and send SIGHUP again`,
      );
  }

  #servingWorkers(): Worker[] {
    return [...this.#records].filter(([, { state }]) => state === 'serving').map(([worker]) => worker);
  }

  /** The processes that do not drain, the oldest first. */
  #liveProcesses(): [Worker, ProcessRecord][] {
    return [...this.#records].filter(([worker, { state }]) => state !== 'leaving' && !worker.isDead());
  }

  /** The number of processes without those that replace a live one. If it dies, its successor counts. */
  #countTowardsTarget(): number {
    const live = this.#liveProcesses();
    return live.filter(([, { replaces }]) => replaces === undefined || !this.#records.has(replaces)).length;
  }

  /** Runs work after the previous replacement has ended or failed. */
  #queueReplacement<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#replacing.then(work);
    this.#replacing = done.then(
      () => undefined,
      (error) => this.#options.log.error({ err: error }, 'A replacement failed'),
    );
    return done;
  }

  async #resizeTo(processes: number): Promise<void> {
    this.#target = processes;
    const missing = Math.max(0, this.#target - this.#liveProcesses().length);
    await Promise.all(Array.from({ length: missing }, () => this.#fork()));
    const live = this.#liveProcesses();
    const oldest = live.slice(0, live.length - this.#target);
    await Promise.all(oldest.map(([worker, record]) => this.#drain(worker, record)));
  }
}

function idsOf(processes: readonly [Worker, ProcessRecord][]): number[] {
  return processes.map(([{ id }]) => id);
}

/** The delay before a dead process is replaced: 0, 100, 200, 400 … 10,000 ms. */
function restartDelayMs(earlyExits: number): number {
  if (earlyExits === 0) return 0;
  return Math.min(FIRST_RESTART_DELAY_MS * 2 ** (earlyExits - 1), MAX_RESTART_DELAY_MS);
}
