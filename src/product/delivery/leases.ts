import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError, type ApiErrorContext, type ErrorCode } from '../../platform/http/errors/errors.ts';
import type { Coordination } from '../../platform/stores/coordination/port.ts';
import { isCallerError } from './errors.ts';

const ENDED = 'delivery/ended';
/** A process renews its lease while it works. If it is killed, the others wait for the end of the lease. */
const LEASE_MS = 3_000;
const RENEWAL_MS = LEASE_MS / 3;
/** How often a waiting process tries to take the lease: its holder may have been killed, or its message lost. */
const POLL_MS = 500;

interface LeasesOptions {
  coordination: Pick<Coordination, 'lease' | 'endLease' | 'publish' | 'subscribe'>;
  /** The name of the processes that share the leases: those of one host, or of all hosts. */
  among: string;
  processId: string;
  /** How long a process waits for the others before it does the work all the same. */
  waitMs: number;
  pause?: (pauseMs: number) => Promise<void>;
}

/** The refusal of work, as it is sent to other processes. */
interface ToldRefusal extends Pick<ApiErrorContext, 'param' | 'details' | 'retryAfterSeconds'> {
  code: ErrorCode;
  message: string;
}

/** The message that the holder of a lease has ended its work. */
interface EndedWork {
  lease: string;
  /** Absent where another process may try the same work with success. */
  refusal?: ToldRefusal;
}

/**
 * Leases for work that several processes want: one process does it at a time. The end of a lease wakes the processes
 * that wait for it, and tells them if the work failed. Within a process, the caller does each work once at a time. A
 * lost message or a lost lease only costs time, or the work is done twice. A message that arrives twice wakes a process
 * in vain, or repeats a refusal of a moment ago.
 */
export class Leases {
  readonly #options: LeasesOptions;
  /** Wakes the work that waits for a lease, or refuses it. */
  readonly #waiting = new Map<string, (refusal: ApiError | undefined) => void>();
  #unsubscribe: () => void = () => {};

  private constructor(options: LeasesOptions) {
    this.#options = options;
  }

  static async open(options: LeasesOptions): Promise<Leases> {
    const leases = new Leases(options);
    leases.#unsubscribe = await options.coordination.subscribe(ENDED, (message) => leases.#ended(message));
    return leases;
  }

  /**
   * Works while no other process does the same.
   * @throws what the work throws, or the refusal with which it failed in another process meanwhile.
   */
  async hold(name: string, work: () => Promise<void>): Promise<void> {
    const lease = `delivery/${this.#options.among}/${name}`;
    await this.#wait(lease).finally(() => this.#waiting.delete(lease));
    const renewing = setInterval(() => this.#take(lease), RENEWAL_MS);
    let refusal: ApiError | undefined;
    try {
      await work();
    } catch (error) {
      if (isCallerError(error)) refusal = error;
      throw error;
    } finally {
      clearInterval(renewing);
      await this.#end(lease, refusal);
    }
  }

  close(): void {
    this.#unsubscribe();
  }

  /** Waits for a lease, until it is taken here or has been waited for too long. @throws the refusal of its work. */
  async #wait(lease: string): Promise<void> {
    const { waitMs, pause = sleep } = this.#options;
    const startedMs = performance.now();
    for (let leftMs = waitMs; ; leftMs = waitMs - (performance.now() - startedMs)) {
      // The message about the end may arrive before the answer that the lease is taken.
      const { promise: ended, resolve } = Promise.withResolvers<ApiError | undefined>();
      this.#waiting.set(lease, resolve);
      if ((await this.#take(lease)) || leftMs <= 0) return;
      const refusal = await Promise.race([ended, pause(Math.min(POLL_MS, leftMs))]);
      if (refusal instanceof ApiError) throw refusal;
    }
  }

  /** Takes or renews a lease; true as well while the store is away, because work that is done twice harms nobody. */
  #take(lease: string): Promise<boolean> {
    const { coordination, processId } = this.#options;
    return coordination.lease(lease, processId, LEASE_MS).catch(() => true);
  }

  async #end(lease: string, refusal: ApiError | undefined): Promise<void> {
    const { coordination, processId } = this.#options;
    const ended: EndedWork = { lease, ...(refusal && { refusal: toldRefusal(refusal) }) };
    // The store ends the lease before it sends the message, so whoever is woken finds it free.
    await Promise.allSettled([
      coordination.endLease(lease, processId),
      coordination.publish(ENDED, JSON.stringify(ended)),
    ]);
  }

  #ended(text: string): void {
    const { lease, refusal } = JSON.parse(text) as EndedWork;
    this.#waiting.get(lease)?.(refusal && new ApiError(refusal.code, refusal.message, refusal));
  }
}

function toldRefusal({ code, message, param, details, retryAfterSeconds }: ApiError): ToldRefusal {
  return { code, message, param, details, retryAfterSeconds };
}
