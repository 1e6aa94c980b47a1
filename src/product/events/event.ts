/**
 * The job events that the service announces. `webhook.test` is not among them, because it is sent directly to one
 * endpoint and never enters the outbox.
 */
export const JOB_EVENT_TYPES = ['job.completed', 'job.failed'] as const;
const ITEM_EVENT_TYPES = ['job.item.completed', 'job.item.failed'] as const;
export const EVENT_TYPES = [...JOB_EVENT_TYPES, ...ITEM_EVENT_TYPES] as const;

export type WebhookEventType = (typeof EVENT_TYPES)[number];

/** An outcome that is announced to an account's webhook endpoints. */
export interface OutboxEvent {
  /**
   * The id: `evt_…`. The writer chooses it before it decides the outcome, and stores it in the same document. After a
   * crash it writes the event again with the same id, so that nothing is announced twice.
   */
  id: string;
  accountId: string;
  type: WebhookEventType;
  /** When the outcome was decided, as an ISO 8601 instant. Events are announced in this order. */
  createdAt: string;
  /**
   * The order among events of the same instant. For the event of an item, it is the number of items that had settled by
   * then; the event of the job comes last.
   */
  sequence: number;
  /** The `data` of the event as its receivers get it. */
  data: Record<string, unknown>;
}

/** The body of an event as text. Every receiver gets the same bytes at every attempt. */
export function eventBodyText(event: { id: string; type: string; createdAt: string; data: unknown }): string {
  const { id, type, createdAt, data } = event;
  return JSON.stringify({ id, type, createdAt, data });
}
