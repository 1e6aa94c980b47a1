import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError, type ApiErrorContext, type ErrorCode } from '../../platform/http/errors/errors.ts';
import type { Coordination } from '../../platform/stores/coordination/port.ts';
import { isCallerError } from './errors.ts';

const LEASE_ENDED_CHANNEL = 'delivery/ended';
/**
 * The lifetime of a lease. A process renews its lease while it works. If the process is killed, the others wait at most
 * this long.
 */
const LEASE_MS = 3_000;
const LEASE_RENEWAL_INTERVAL_MS = LEASE_MS / 3;
/**
 * How often a waiting process tries to take the lease. This is necessary because the holder of the lease may have been
 * killed, or the message about the end of the lease may have been lost.
 */
const LEASE_POLL_INTERVAL_MS = 500;

interface LeasesOptions {
  coordination: Pick<Coordination, 'lease' | 'endLease' | 'publish' | 'subscribe'>;
  /** The name of the group of processes that share the leases: those of one host, or of all hosts. */
  scope: string;
  processId: string;
  /** How long a process waits for another one before it does the work itself. */
  waitMs: number;
  pause?: (pauseMs: number) => Promise<void>;
}

/** An error of the work in the form in which it is sent to other processes. */
interface RefusalMessage extends Pick<ApiErrorContext, 'param' | 'details' | 'retryAfterSeconds'> {
  code: ErrorCode;
  message: string;
}

/** The message that the holder of a lease has ended its work. */
interface EndedWorkMessage {
  lease: string;
  /**
   * The error with which the work failed. Absent if it succeeded, or failed for a reason that other processes may not
   * have.
   */
  refusal?: RefusalMessage;
}

/**
 * Leases for work that several processes may want at the same time, so that only one of them does it. When the holder
 * of a lease ends its work, it wakes the waiting processes, and informs them if the work failed. Within one process,
 * the caller must prevent concurrent calls for the same work. If a message or a lease is lost, the work is done late or
 * twice.
 */
export class Leases {
  readonly #options: LeasesOptions;
  /** The waiting call for each lease: a function that wakes it, or makes it fail with an error. */
  readonly #waiting = new Map<string, (refusal: ApiError | undefined) => void>();
  #unsubscribe: () => void = () => {};

  private constructor(options: LeasesOptions) {
    this.#options = options;
  }

  static async open(options: LeasesOptions): Promise<Leases> {
    const leases = new Leases(options);
    leases.#unsubscribe = await options.coordination.subscribe(LEASE_ENDED_CHANNEL, (message) =>
      leases.#receiveEnd(message),
    );
    return leases;
  }

  /**
   * Does work under a lease. If another process is doing the same work, waits for that process first.
   * @throws the error of the work, also if the work failed in another process.
   */
  async hold(name: string, work: () => Promise<void>): Promise<void> {
    const lease = `delivery/${this.#options.scope}/${name}`;
    await this.#waitForTurn(lease).finally(() => this.#waiting.delete(lease));
    const renewing = setInterval(() => this.#takeLease(lease), LEASE_RENEWAL_INTERVAL_MS);
    let refusal: ApiError | undefined;
    try {
      await work();
    } catch (error) {
      if (isCallerError(error)) refusal = error;
      throw error;
    } finally {
      clearInterval(renewing);
      await this.#endLease(lease, refusal);
    }
  }

  close(): void {
    this.#unsubscribe();
  }

  /**
   * Waits until this process has taken the lease, or the waiting time is over. Throws the error with which the work
   * failed in another process.
   */
  async #waitForTurn(lease: string): Promise<void> {
    const { waitMs, pause = sleep } = this.#options;
    const startedMs = performance.now();
    for (let leftMs = waitMs; ; leftMs = waitMs - (performance.now() - startedMs)) {
      // The call is registered before it requests the lease. Otherwise it could miss a message that arrives before the
      // answer.
      const { promise: ended, resolve } = Promise.withResolvers<ApiError | undefined>();
      this.#waiting.set(lease, resolve);
      if ((await this.#takeLease(lease)) || leftMs <= 0) return;
      const refusal = await Promise.race([ended, pause(Math.min(LEASE_POLL_INTERVAL_MS, leftMs))]);
      if (refusal instanceof ApiError) throw refusal;
    }
  }

  /** Takes or renews a lease. If the store is unavailable, returns true, because doing the work twice does no harm. */
  #takeLease(lease: string): Promise<boolean> {
    const { coordination, processId } = this.#options;
    return coordination.lease(lease, processId, LEASE_MS).catch(() => true);
  }

  async #endLease(lease: string, refusal: ApiError | undefined): Promise<void> {
    const { coordination, processId } = this.#options;
    const ended: EndedWorkMessage = { lease };
    if (refusal !== undefined) {
      const { code, message, param, details, retryAfterSeconds } = refusal;
      ended.refusal = { code, message, param, details, retryAfterSeconds };
    }
    // The lease is given back before the message is sent, so that the woken processes can take it.
    await Promise.allSettled([
      coordination.endLease(lease, processId),
      coordination.publish(LEASE_ENDED_CHANNEL, JSON.stringify(ended)),
    ]);
  }

  #receiveEnd(text: string): void {
    const { lease, refusal } = JSON.parse(text) as EndedWorkMessage;
    this.#waiting.get(lease)?.(refusal && new ApiError(refusal.code, refusal.message, refusal));
  }
}
