import { createHmac, randomBytes } from 'node:crypto';
import type { JobSummary } from '../schema.ts';

/** An event about a job that has ended, as the service sends it to webhook endpoints. */
export interface JobEvent {
  id: string;
  type: 'job.completed' | 'job.failed';
  createdAt: string;
  data: Record<string, unknown>;
}

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/**
 * The event of a job that has ended. Its id is the same for every such event of a job, and differs from the service's
 * own event id.
 */
export function jobEndEventOf(job: JobSummary): JobEvent {
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

/** A secret such as those of webhook endpoints. */
export function newWebhookSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString('base64');
}

/** The headers of a delivery, with both signatures that the service sends. */
export function signedDeliveryHeaders({ id, type }: JobEvent, body: string, secret: string, nowMs: number) {
  const seconds = String(Math.floor(nowMs / 1000));
  const signature = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex');
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
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
