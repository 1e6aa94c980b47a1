import { present } from '../../../platform/names/present.ts';
import type { EventType } from '../../events/event.ts';
import type { Endpoint } from '../schema.ts';
import { hintOf } from './signing.ts';

/** Where an account wants its events sent. */
export interface EndpointDocument {
  _id: string;
  accountId: string;
  /** One of the account's slots, each taken once: this is the limit of endpoints. */
  slot: number;
  url: string;
  description: string;
  events: EventType[];
  enabled: boolean;
  /** Grows whenever the endpoint is enabled again: what was queued under a lower number is not sent any more. */
  generation: number;
  /** Since when it takes events. */
  enabledAt: string;
  secret: string;
  consecutiveFailures: number;
  /** The failed delivery that was counted last: a repeat after a crash counts it once. */
  lastFailureId: string | null;
  disabledAt: string | null;
  disabledReason: string | null;
  /** Present while the owner must still be mailed that it was disabled: when to try. */
  noticeDueAt?: string;
  createdAt: string;
  updatedAt: string;
}

/** An endpoint as the API shows it: without its secret. */
export function endpointOf(endpoint: EndpointDocument): Endpoint {
  const { _id: id, url, description, events, enabled, consecutiveFailures } = endpoint;
  const { secret, disabledAt, disabledReason, createdAt, updatedAt } = endpoint;
  return {
    id,
    url,
    description,
    events,
    enabled,
    consecutiveFailures,
    secretHint: hintOf(secret),
    ...present({ disabledAt, disabledReason }),
    createdAt,
    updatedAt,
  };
}
