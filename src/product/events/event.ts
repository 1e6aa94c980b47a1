/**
 * The job events that the service announces. `webhook.test` never enters the outbox: it is sent to one endpoint at
 * once.
 */
export const JOB_EVENT_TYPES = ['job.completed', 'job.failed'] as const;
const ITEM_EVENT_TYPES = ['job.item.completed', 'job.item.failed'] as const;
export const EVENT_TYPES = [...JOB_EVENT_TYPES, ...ITEM_EVENT_TYPES] as const;

export type WebhookEventType = (typeof EVENT_TYPES)[number];

/** An outcome that is announced to an account's webhook endpoints. */
export interface OutboxEvent {
  /**
   * The id: `evt_…`. The writer chooses it before the outcome and stores it in its own document, so that a repeat after
   * a crash writes the same id and announces nothing twice.
   */
  id: string;
  accountId: string;
  type: WebhookEventType;
  /** The instant of the outcome, ISO 8601. Events are announced in this order. */
  createdAt: string;
  /**
   * The order among events of the same instant. The number of an item is its position among the settled items. The
   * number of a job is higher than those of its items.
   */
  sequence: number;
  /** The `data` of the event as its receivers get it. */
  data: Record<string, unknown>;
}

/** An event as the text that is sent. Every receiver gets the same bytes at every attempt. */
export function eventBodyText(event: { id: string; type: string; createdAt: string; data: unknown }): string {
  const { id, type, createdAt, data } = event;
  return JSON.stringify({ id, type, createdAt, data });
}
