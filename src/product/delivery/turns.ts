import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError, type ApiErrorContext, type ErrorCode } from '../../platform/http/errors/errors.ts';
import type { Coordination } from '../../platform/stores/coordination/port.ts';
import { failsEverywhere } from './errors.ts';

const FAILED = 'delivery/failed';
/** A process that works renews its lease meanwhile. One that was killed holds up the others for so long. */
const LEASE_MS = 3_000;
const RENEWAL_MS = LEASE_MS / 3;
/** How often a process asks whether it is its turn. */
const POLL_MS = 25;

interface TurnsOptions {
  coordination: Pick<Coordination, 'lease' | 'endLease' | 'publish' | 'subscribe'>;
  /** Who takes turns: the processes of a host, or all. */
  among: string;
  processId: string;
  /** How long a process waits for the others, before it works all the same. */
  waitMs: number;
}

/** The refusal of work that another process was the first to do. */
interface TurnFailure extends Pick<ApiErrorContext, 'param' | 'details' | 'retryAfterSeconds'> {
  lease: string;
  code: ErrorCode;
  message: string;
}

/** Work that waits here for its turn. */
interface Waiting {
  /** With which the same work failed elsewhere meanwhile. */
  refusal?: ApiError;
}

/**
 * The turns of processes that want the same work: one does it at a time, and tells those that wait when it failed. A
 * process has each work once at a time. A lost message or a lost lease costs work that is done twice, and no answer.
 */
export class Turns {
  readonly #options: TurnsOptions;
  readonly #waiting = new Map<string, Waiting>();
  #unsubscribe: () => void = () => {};

  private constructor(options: TurnsOptions) {
    this.#options = options;
  }

  static async open(options: TurnsOptions): Promise<Turns> {
    const turns = new Turns(options);
    turns.#unsubscribe = await options.coordination.subscribe(FAILED, (message) => turns.#failed(message));
    return turns;
  }

  /**
   * Works when no other process does the same.
   * @throws what the work throws, or the refusal with which it failed in another process meanwhile.
   */
  async take(name: string, work: () => Promise<void>): Promise<void> {
    const { coordination, among, processId, waitMs } = this.#options;
    const lease = `delivery/${among}/${name}`;
    const takeLease = () => coordination.lease(lease, processId, LEASE_MS).catch(() => true);
    const waiting: Waiting = {};
    this.#waiting.set(lease, waiting);
    try {
      for (let waitedMs = 0; !(await takeLease()) && waitedMs < waitMs; waitedMs += POLL_MS) {
        if (waiting.refusal !== undefined) break;
        await sleep(POLL_MS);
      }
      if (waiting.refusal !== undefined) throw waiting.refusal;
      await this.#work(lease, takeLease, work);
    } finally {
      this.#waiting.delete(lease);
      await coordination.endLease(lease, processId).catch(() => undefined);
    }
  }

  close(): void {
    this.#unsubscribe();
  }

  async #work(lease: string, renew: () => Promise<boolean>, work: () => Promise<void>): Promise<void> {
    const renewing = setInterval(renew, RENEWAL_MS);
    try {
      await work();
    } catch (error) {
      // Before the lease ends, so that those who wait do not try it, too.
      if (failsEverywhere(error)) await this.#tell(lease, error);
      throw error;
    } finally {
      clearInterval(renewing);
    }
  }

  async #tell(lease: string, { code, message, param, details, retryAfterSeconds }: ApiError): Promise<void> {
    const failure: TurnFailure = { lease, code, message, param, details, retryAfterSeconds };
    await this.#options.coordination.publish(FAILED, JSON.stringify(failure)).catch(() => undefined);
  }

  #failed(text: string): void {
    const { lease, code, message, ...context } = JSON.parse(text) as TurnFailure;
    const waiting = this.#waiting.get(lease);
    if (waiting !== undefined) waiting.refusal = new ApiError(code, message, context);
  }
}
