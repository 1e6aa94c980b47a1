import { withoutAbsentFields } from '../../../platform/values/present.ts';
import type { WebhookEventType } from '../../events/event.ts';
import type { WebhookEndpointData } from '../schema.ts';
import { secretHintOf } from './signing.ts';

/** A webhook endpoint of an account. */
export interface EndpointDocument {
  _id: string;
  accountId: string;
  /** The number of its slot in the account; unique, which limits the number of endpoints. */
  slot: number;
  url: string;
  description: string;
  events: WebhookEventType[];
  enabled: boolean;
  /**
   * Increases whenever the endpoint is enabled. Deliveries that were queued under a lower number are no longer sent.
   */
  generation: number;
  /** The instant since which it takes events. */
  enabledAt: string;
  secret: string;
  consecutiveFailures: number;
  /** The last failed delivery that was counted. A repeat after a crash does not count it again. */
  lastFailureId: string | null;
  disabledAt: string | null;
  disabledReason: string | null;
  /** The next time to mail the owner that the endpoint was disabled; absent when no mail is due. */
  noticeDueAt?: string;
  createdAt: string;
  updatedAt: string;
}

/** An endpoint as the API shows it: without its secret. */
export function endpointDataOf(endpoint: EndpointDocument): WebhookEndpointData {
  const { _id: id, url, description, events, enabled, consecutiveFailures } = endpoint;
  const { secret, disabledAt, disabledReason, createdAt, updatedAt } = endpoint;
  const shown = { id, url, description, events, enabled, consecutiveFailures, createdAt, updatedAt };
  return {
    ...shown,
    secretHint: secretHintOf(secret),
    ...withoutAbsentFields({ disabledAt, disabledReason }),
  };
}
