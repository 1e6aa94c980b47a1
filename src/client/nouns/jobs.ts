import type { QueryOf } from '../calls.ts';
import { Download } from '../picture.ts';
import type { Job, JobEstimate, JobRequest, ResumedJob } from '../schema.ts';
import type { CallOptions } from '../transport.ts';
import { CallGroup } from './call-group.ts';

export interface WaitOptions extends CallOptions {
  /** Called with the job whenever its status or its counts have changed. */
  onProgress?: (job: Job) => void;
  /**
   * How many seconds the service may hold each request open. It responds earlier if the job ends. Default: 2 with
   * onProgress, otherwise 30.
   */
  waitSeconds?: number;
}

const PROGRESS_WAIT_SECONDS = 2;
const DEFAULT_WAIT_SECONDS = 30;
const ENDED_STATUSES = ['COMPLETED', 'FAILED', 'CANCELLED'];

/** Whether a job has ended, so that nothing of it changes any more. */
export function hasEnded({ status }: Pick<Job, 'status'>): boolean {
  return ENDED_STATUSES.includes(status);
}

/** Jobs, which run ops, presets or chains of steps over many assets. */
export class Jobs extends CallGroup {
  /** Checks a job and computes its price, without submitting it. */
  async estimate(request: JobRequest, options?: CallOptions): Promise<JobEstimate> {
    const fields = { query: { dryRun: true }, body: request };
    return (await this.send('POST /jobs', fields, options)) as JobEstimate;
  }

  /** Submits a job, and returns it in its first state. If the call is retried, no second job is created. */
  async submit(request: JobRequest, options?: CallOptions): Promise<Job> {
    return (await this.send('POST /jobs', { body: request }, options)) as Job;
  }

  /**
   * Submits a job and waits for its end. A job may also end as FAILED: read `status`, or `outcome`, which says whether
   * all, some or none of the items completed. When the signal aborts, the job is cancelled, and the promise rejects
   * with the signal's reason. A second call with the same request and `idempotencyKey` continues to wait for the same
   * job.
   */
  async run(request: JobRequest, { signal, ...options }: WaitOptions = {}): Promise<Job> {
    signal?.throwIfAborted();
    // An aborted submit may have created the job. It is therefore awaited here, so that its job can be cancelled.
    const job = await this.submit(request, options);
    try {
      return await this.wait(job.id, { ...options, signal });
    } catch (error) {
      if (signal?.aborted) await this.cancel(job.id).catch(() => undefined);
      throw error;
    }
  }

  /** Waits for the end of a job. When the signal aborts, the wait ends, but not the job. */
  async wait(jobId: string, { onProgress, waitSeconds, ...options }: WaitOptions = {}): Promise<Job> {
    const wait = waitSeconds ?? (onProgress === undefined ? DEFAULT_WAIT_SECONDS : PROGRESS_WAIT_SECONDS);
    let reportedCounts = '';
    for (;;) {
      const job = await this.get(jobId, { wait }, options);
      const counts = `${job.status} ${job.completedItems} ${job.failedItems} ${job.cancelledItems}`;
      if (counts !== reportedCounts) onProgress?.(job);
      reportedCounts = counts;
      if (hasEnded(job)) return job;
    }
  }

  get(jobId: string, query: QueryOf<'GET /jobs/{jobId}'> = {}, options?: CallOptions): Promise<Job> {
    return this.send('GET /jobs/{jobId}', { path: { jobId }, query }, options);
  }

  /** Lists the jobs, newest first. */
  readonly list = this.listMethodWithQuery('GET /jobs');
  /** The number of jobs by status and type. */
  readonly counts = this.methodWithQuery('GET /jobs/counts');
  /** Lists the items of a job in their order. */
  readonly items = this.listMethodWithId('GET /jobs/{jobId}/items');
  /** Cancels a job. Items that are already running are allowed to finish. */
  readonly cancel = this.methodWithId('POST /jobs/{jobId}/cancel');

  /**
   * Submits a new job that repeats the items that failed or were cancelled.
   * @param maxCredits the highest price that is accepted, in credits.
   */
  async resume(
    jobId: string,
    { maxCredits, ...options }: CallOptions & { maxCredits?: number } = {},
  ): Promise<ResumedJob> {
    const body = maxCredits === undefined ? {} : { maxCredits };
    const fields = { path: { jobId }, body };
    return (await this.send('POST /jobs/{jobId}/resume', fields, options)) as ResumedJob;
  }

  /**
   * Downloads all pictures that a job made, as one ZIP archive.
   * @param attempts `all`: the archive also contains the pictures of the job's other attempts. Each resume is a further
   * attempt.
   */
  async download(
    jobId: string,
    { attempts, ...options }: CallOptions & { attempts?: 'all' } = {},
  ): Promise<Download> {
    const path = `/jobs/${encodeURIComponent(jobId)}/results.zip`;
    const call = { method: 'GET', path, query: { attempts }, accept: '*/*' };
    return new Download(await this.transport.bytes(call, options));
  }
}
