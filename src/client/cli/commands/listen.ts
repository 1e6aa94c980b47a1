import { createHmac, randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import type { Darkroom } from '../../client.ts';
import { hasEnded } from '../../nouns/jobs.ts';
import { type Clock, systemClock } from '../../runtime.ts';
import type { JobSummary } from '../../schema.ts';
import type { CliCommand } from '../context.ts';
import { EXIT_CODES, UsageError } from '../exit-codes.ts';

const LISTEN_OPTIONS = {
  'forward-to': { type: 'string' },
  events: { type: 'string', default: 'job.completed,job.failed' },
} as const;

const RECEIVER_TIMEOUT_MS = 10_000;

export const listenCommand: CliCommand = {
  usage: `darkroom listen --forward-to ADDRESS [--events job.completed,job.failed]

Sends what jobs of the account announce to an address of this machine, so that a receiver of webhooks can be written where the
service cannot reach it. It looks every two seconds which jobs have ended, and makes the event of each itself: its body is that of
the service, its id is not. It signs with DARKROOM_WEBHOOK_SECRET, or with a new secret that it prints. What is not received is not
sent again.
`,
  async run(args, context) {
    const { values } = parseArgs({ args, options: LISTEN_OPTIONS });
    const address = values['forward-to'];
    if (address === undefined || !URL.canParse(address))
      throw new UsageError('Name the address with --forward-to, such as http://localhost:4000/hook.');
    const types = values.events.split(',');
    const { terminal, environment } = context;
    const secret = environment.DARKROOM_WEBHOOK_SECRET || createWebhookSecret();
    const stopped = new AbortController();
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopped.abort());
    try {
      const watch = await JobWatch.open(await context.client(), systemClock, stopped.signal);
      terminal.writeNote(`Forwarding to ${address}, signed with ${secret}`);
      for await (const job of watch.endedJobs(stopped.signal)) {
        const event = jobEndEventOf(job);
        if (!types.includes(event.type)) continue;
        const body = JSON.stringify(event);
        const headers = signedDeliveryHeaders(event, body, secret, Date.now());
        const outcome = await deliverEvent(address, headers, body);
        const text = `${event.type}  ${job.id} → ${outcome.status ?? outcome.error}`;
        terminal.writeResult({ event, ...outcome }, text);
      }
    } catch (error) {
      if (!stopped.signal.aborted) throw error;
    }
    return EXIT_CODES.done;
  },
};

/** Delivers an event to a local address. Returns the status of the response, or the reason why there is none. */
async function deliverEvent(
  address: string,
  headers: Record<string, string>,
  body: string,
): Promise<{ status?: number; error?: string }> {
  try {
    const signal = AbortSignal.timeout(RECEIVER_TIMEOUT_MS);
    const { status } = await fetch(address, { method: 'POST', headers, body, redirect: 'manual', signal });
    return { status };
  } catch (error) {
    const { cause, message } = error as Error & { cause?: Error };
    return { error: cause?.message || message };
  }
}

const RUNNING_STATUSES = ['PENDING', 'PROCESSING', 'CANCELLING'] as const;
const POLL_INTERVAL_MS = 2_000;
const EARLIEST_INSTANT = '1970-01-01T00:00:00Z';

/**
 * Reports the jobs of an account as they end. Every two seconds it lists the jobs that are running, and those that were
 * created after the newest known one.
 */
export class JobWatch {
  readonly #client: Darkroom;
  readonly #clock: Clock;
  /** When the newest known job was created, by the clock of the service. */
  #newestCreatedAt = EARLIEST_INSTANT;
  #runningIds: ReadonlySet<string> = new Set();
  /** The ids of ended jobs that were reported, but may appear in the next list again. */
  #reportedIds: ReadonlySet<string> = new Set();

  private constructor(client: Darkroom, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** Begins to watch. Every job that ends after the promise has resolved will be reported. */
  static async open(client: Darkroom, clock: Clock, signal: AbortSignal): Promise<JobWatch> {
    const watch = new JobWatch(client, clock);
    const { rows } = await client.jobs.list({ perPage: 1 }, { signal }).first();
    watch.#newestCreatedAt = rows[0]?.createdAt ?? EARLIEST_INSTANT;
    watch.#reportedIds = jobIdsOf((await watch.#listCreated(signal)).filter(hasEnded));
    watch.#runningIds = await watch.#listRunningIds(signal);
    return watch;
  }

  /** Yields each job that ends, until the signal aborts. */
  async *endedJobs(signal: AbortSignal): AsyncGenerator<JobSummary> {
    for (;;) {
      await this.#clock.sleep(POLL_INTERVAL_MS, signal);
      yield* await this.#findEnded(signal);
    }
  }

  /** Finds the jobs that have ended since the last call. */
  async #findEnded(signal: AbortSignal): Promise<JobSummary[]> {
    const created = await this.#listCreated(signal);
    const running = await this.#listRunningIds(signal);
    const endedNew = created.filter((job) => hasEnded(job) && !this.#reportedIds.has(job.id));
    const endedNewIds = jobIdsOf(endedNew);
    const ended = [...endedNew];
    for (const id of this.#runningIds) {
      if (running.has(id) || endedNewIds.has(id)) continue;
      const job = await this.#client.jobs.get(id, { items: 0 }, { signal });
      if (hasEnded(job)) ended.push(job);
      else running.add(id);
    }
    for (const { id } of created.filter((job) => !hasEnded(job))) running.add(id);
    this.#newestCreatedAt = created.at(-1)?.createdAt ?? this.#newestCreatedAt;
    this.#reportedIds = new Set([...jobIdsOf(created.filter(hasEnded)), ...jobIdsOf(ended)]);
    this.#runningIds = new Set([...running].filter((id) => !this.#reportedIds.has(id)));
    return ended;
  }

  /** The jobs that were created at or after the newest known one, oldest first. */
  async #listCreated(signal: AbortSignal): Promise<JobSummary[]> {
    const jobs = await this.#client.jobs.list({ createdFrom: this.#newestCreatedAt }, { signal }).all();
    return jobs.reverse();
  }

  async #listRunningIds(signal: AbortSignal): Promise<Set<string>> {
    const ids = new Set<string>();
    for (const status of RUNNING_STATUSES)
      for await (const { id } of this.#client.jobs.list({ status }, { signal })) ids.add(id);
    return ids;
  }
}

function jobIdsOf(jobs: readonly JobSummary[]): Set<string> {
  return new Set(jobs.map(({ id }) => id));
}

/** An event about a job that has ended, as the service sends it to webhook endpoints. */
interface JobEvent {
  id: string;
  type: 'job.completed' | 'job.failed';
  createdAt: string;
  data: Record<string, unknown>;
}

const WEBHOOK_SECRET_PREFIX = 'whsec_';
const WEBHOOK_SECRET_BYTES = 32;

/**
 * Makes the event of a job that has ended. Its id is derived from the job, and is not the id of the event that the
 * service itself sends.
 */
function jobEndEventOf(job: JobSummary): JobEvent {
  const { id, status, outcome, errorCode, retryable } = job;
  const isCompleted = status === 'COMPLETED';
  return {
    id: id.replace(/^job_/, 'evt_'),
    type: isCompleted ? 'job.completed' : 'job.failed',
    createdAt: job.completedAt ?? job.createdAt,
    data: {
      jobId: id,
      type: job.type,
      status,
      totalItems: job.totalItems,
      completedItems: job.completedItems,
      failedItems: job.failedItems,
      ...(outcome !== undefined && { outcome }),
      creditsCharged: job.actualCredits,
      ...(!isCompleted && errorCode !== undefined && { errorCode, retryable }),
    },
  };
}

/** Makes a secret in the form of the service's webhook secrets. */
function createWebhookSecret(): string {
  return WEBHOOK_SECRET_PREFIX + randomBytes(WEBHOOK_SECRET_BYTES).toString('base64');
}

/** The headers of a delivery, signed in both schemes that the service uses. */
function signedDeliveryHeaders({ id, type }: JobEvent, body: string, secret: string, nowMs: number) {
  const seconds = String(Math.floor(nowMs / 1000));
  const signature = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex');
  const key = Buffer.from(secret.slice(WEBHOOK_SECRET_PREFIX.length), 'base64');
  const standard = createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64');
  return {
    'content-type': 'application/json; charset=utf-8',
    'service-signature': `t=${seconds},v1=${signature}`,
    'service-event-id': id,
    'service-event-type': type,
    'service-attempt': '1',
    'webhook-id': id,
    'webhook-timestamp': seconds,
    'webhook-signature': `v1,${standard}`,
  };
}
