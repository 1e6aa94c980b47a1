import { newId } from '../../../platform/ids/ids.ts';
import {
  type DeclaredCollection,
  type DocumentCollection,
  type DocumentFilter,
  type DocumentStore,
  type DocumentUpdate,
  sortBy,
} from '../../../platform/stores/documents/port.ts';
import { insertInFreeSlot, SLOT_INDEX } from '../../../platform/stores/documents/slots.ts';
import { withoutAbsentFields } from '../../../platform/values/present.ts';
import type { WebhookEventType } from '../../events/event.ts';
import { ENDPOINTS_COLLECTION_NAME } from '../../events/open.ts';
import { endpointNotFoundError, endpointsContendedError, tooManyEndpointsError } from '../errors.ts';
import { MAX_ENDPOINTS_PER_ACCOUNT, type WebhookEndpointData } from '../schema.ts';
import { secretHintOf } from './signing.ts';

export interface EndpointDocument {
  _id: string;
  accountId: string;
  /** The slot that the endpoint occupies in its account. The field is unique, which limits the number of endpoints. */
  slot: number;
  url: string;
  description: string;
  events: WebhookEventType[];
  enabled: boolean;
  /** Increases each time the endpoint is enabled. A delivery that was queued under a lower number is no longer sent. */
  generation: number;
  /** When the endpoint was last enabled. Only events after that are sent to it. */
  enabledAt: string;
  secret: string;
  consecutiveFailures: number;
  /**
   * The last failed delivery that was counted. If its failure is recorded again after a crash, it is not counted twice.
   */
  lastFailureId: string | null;
  disabledAt: string | null;
  disabledReason: string | null;
  /** When the owner must get a mail that says that the endpoint is disabled; absent when no mail is due. */
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

/** The number of consecutive failed deliveries after which an endpoint is disabled. */
export const MAX_CONSECUTIVE_FAILURES = 5;

export const WEBHOOK_ENDPOINTS_COLLECTION: DeclaredCollection = {
  name: ENDPOINTS_COLLECTION_NAME,
  indexes: [
    SLOT_INDEX,
    { name: 'disabled', fields: sortBy('enabled') },
    { name: 'notice', fields: sortBy('noticeDueAt'), whenPresent: ['noticeDueAt'] },
  ],
  onAccountDeletion: 'delete',
};

type EndpointFields = Pick<EndpointDocument, 'url' | 'description' | 'events' | 'enabled'>;

/** The store of endpoints. Methods for owners take the account first and see only its endpoints. */
export class EndpointsStore {
  readonly #endpoints: DocumentCollection<EndpointDocument>;

  constructor(documents: DocumentStore) {
    this.#endpoints = documents.collection(WEBHOOK_ENDPOINTS_COLLECTION);
  }

  /**
   * Stores a new endpoint in a free slot of its account.
   * @throws ApiError resource_limit_exceeded when no slot is free.
   */
  async insert(
    accountId: string,
    fields: EndpointFields & { secret: string },
    now: Date,
  ): Promise<EndpointDocument> {
    const slots = {
      limit: MAX_ENDPOINTS_PER_ACCOUNT,
      tooMany: tooManyEndpointsError,
      tooContended: endpointsContendedError,
    };
    return insertInFreeSlot(this.#endpoints, slots, { ...newEndpoint(fields, now), accountId });
  }

  /** Lists the endpoints of an account, newest first. */
  async list(accountId: string): Promise<EndpointDocument[]> {
    return this.#endpoints.find({ accountId }, { sort: sortBy('-_id') });
  }

  async find(accountId: string, id: string): Promise<EndpointDocument | null> {
    return this.#endpoints.findOne({ _id: id, accountId });
  }

  /**
   * Finds the endpoint of a call.
   * @throws ApiError not_found
   */
  async requireEndpoint(accountId: string, id: string): Promise<EndpointDocument> {
    const endpoint = await this.find(accountId, id);
    if (endpoint === null) throw endpointNotFoundError(id);
    return endpoint;
  }

  /** The enabled endpoints of these accounts. */
  async findEnabled(accountIds: readonly string[]): Promise<EndpointDocument[]> {
    return this.#endpoints.find({ accountId: { $in: [...accountIds] }, enabled: true });
  }

  /**
   * Changes the given fields; null when there is no such endpoint. When an endpoint is enabled, its count of failures
   * is cleared.
   */
  async change(
    accountId: string,
    id: string,
    fields: Partial<EndpointFields>,
    now: Date,
  ): Promise<EndpointDocument | null> {
    const $set = { ...fields, updatedAt: now.toISOString() };
    if (fields.enabled !== true) return this.#update(accountId, id, {}, { $set });
    const cleared = { ...$set, consecutiveFailures: 0, disabledAt: null, disabledReason: null };
    const $unset = { noticeDueAt: '' };
    const started = { ...cleared, enabledAt: now.toISOString() };
    const update = { $set: started, $inc: { generation: 1 }, $unset };
    const enabled = await this.#update(accountId, id, { enabled: false }, update);
    return enabled ?? this.#update(accountId, id, { enabled: true }, { $set: cleared, $unset });
  }

  async replaceSecret(
    accountId: string,
    id: string,
    secret: string,
    now: Date,
  ): Promise<EndpointDocument | null> {
    return this.#update(accountId, id, {}, { $set: { secret, updatedAt: now.toISOString() } });
  }

  async remove(accountId: string, id: string): Promise<boolean> {
    return (await this.#endpoints.deleteOne({ _id: id, accountId })) === 1;
  }

  /** Clears the count of consecutive failures after a successful delivery. */
  async clearFailures(accountId: string, id: string): Promise<void> {
    const filter = { _id: id, accountId, consecutiveFailures: { $gt: 0 } };
    await this.#endpoints.updateOne(filter, { $set: { consecutiveFailures: 0 } });
  }

  /** Counts a delivery that has failed for good. A repetition has no effect. A disabled endpoint counts no failures. */
  async countFailure(accountId: string, id: string, deliveryId: string): Promise<EndpointDocument | null> {
    const isUncounted = { enabled: true, lastFailureId: { $ne: deliveryId } };
    const counted = { $inc: { consecutiveFailures: 1 }, $set: { lastFailureId: deliveryId } };
    return this.#update(accountId, id, isUncounted, counted);
  }

  /**
   * Disables an endpoint that has failed too often, and makes a mail to its owner due. Null when another process was
   * faster.
   */
  async disable(accountId: string, id: string, reason: string, now: Date): Promise<EndpointDocument | null> {
    const at = now.toISOString();
    const stamps = { disabledAt: at, noticeDueAt: at, updatedAt: at };
    const failsTooOften = { enabled: true, consecutiveFailures: { $gte: MAX_CONSECUTIVE_FAILURES } };
    const $set = { enabled: false, disabledReason: reason, ...stamps };
    return this.#update(accountId, id, failsTooOften, { $set });
  }

  /**
   * Claims an endpoint whose owner must get a mail. The mail becomes due again at `againAt`, unless `clearNotice` is
   * called before.
   */
  async claimNotice(now: Date, againAt: Date): Promise<EndpointDocument | null> {
    const due = { noticeDueAt: { $lte: now.toISOString() } };
    const update = { $set: { noticeDueAt: againAt.toISOString() } };
    return this.#endpoints.findOneAndUpdate(due, update, { sort: sortBy('noticeDueAt') });
  }

  async clearNotice(accountId: string, id: string): Promise<void> {
    await this.#endpoints.updateOne({ _id: id, accountId }, { $unset: { noticeDueAt: '' } });
  }

  /** For the operator: every endpoint of every account, oldest first. */
  async findEveryEndpoint(): Promise<EndpointDocument[]> {
    return this.#endpoints.find({}, { sort: sortBy('_id') });
  }

  /** For the operator: whether any account has an endpoint with this id. */
  async exists(id: string): Promise<boolean> {
    return (await this.#endpoints.findOne({ _id: id }, { fields: ['_id'] })) !== null;
  }

  async countDisabled(): Promise<number> {
    return this.#endpoints.count({ enabled: false });
  }

  #update(
    accountId: string,
    id: string,
    condition: DocumentFilter,
    update: DocumentUpdate,
  ): Promise<EndpointDocument | null> {
    return this.#endpoints.findOneAndUpdate({ _id: id, accountId, ...condition }, update);
  }
}

function newEndpoint(fields: EndpointFields & { secret: string }, now: Date) {
  const createdAt = now.toISOString();
  return {
    _id: newId('whe', now.getTime()),
    ...fields,
    generation: 1,
    enabledAt: createdAt,
    consecutiveFailures: 0,
    lastFailureId: null,
    disabledAt: null,
    disabledReason: null,
    createdAt,
    updatedAt: createdAt,
  };
}
