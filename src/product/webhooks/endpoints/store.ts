import { newId } from '../../../platform/ids/ids.ts';
import {
  type DeclaredCollection,
  type DocumentCollection,
  type DocumentStore,
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
  /** The number of the endpoint's slot in the account. It is unique, which limits the number of endpoints. */
  slot: number;
  url: string;
  description: string;
  events: WebhookEventType[];
  enabled: boolean;
  /**
   * Increases whenever the endpoint is enabled. Deliveries that were queued under a lower number are no longer sent.
   */
  generation: number;
  /** When the endpoint was last enabled. Only later events are sent to it. */
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

/** After this many consecutive deliveries without success, an endpoint is disabled. */
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

/** The endpoints of the accounts. Methods for owners take the account first and see only its endpoints. */
export class EndpointsStore {
  readonly #endpoints: DocumentCollection<EndpointDocument>;

  private constructor(endpoints: DocumentCollection<EndpointDocument>) {
    this.#endpoints = endpoints;
  }

  static async open(documents: DocumentStore): Promise<EndpointsStore> {
    return new EndpointsStore(await documents.collection(WEBHOOK_ENDPOINTS_COLLECTION));
  }

  /** @throws ApiError resource_limit_exceeded when all of the account's slots are taken. */
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

  /** Finds the endpoint that a call names. Throws ApiError not_found. */
  async requireEndpoint(accountId: string, id: string): Promise<EndpointDocument> {
    const endpoint = await this.find(accountId, id);
    if (endpoint === null) throw endpointNotFoundError(id);
    return endpoint;
  }

  /** The enabled endpoints of several accounts, for the events of each. */
  async findEnabled(accountIds: readonly string[]): Promise<EndpointDocument[]> {
    return this.#endpoints.find({ accountId: { $in: [...accountIds] }, enabled: true });
  }

  /** Changes the given fields; null when there is no such endpoint. Enabling always clears the count of failures. */
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

  /**
   * Counts a delivery that has no retries left. A repetition does not count it again, and a disabled endpoint counts no
   * failures.
   */
  async countFailure(accountId: string, id: string, deliveryId: string): Promise<EndpointDocument | null> {
    const isUncounted = { enabled: true, lastFailureId: { $ne: deliveryId } };
    const counted = { $inc: { consecutiveFailures: 1 }, $set: { lastFailureId: deliveryId } };
    return this.#update(accountId, id, isUncounted, counted);
  }

  /**
   * Disables an endpoint that failed too often, and marks a mail to its owner as due. Null when another process was
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
   * Claims one endpoint whose owner must be mailed. The mail is due again at `againAt`, unless `clearNotice` is called
   * before.
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

  /** For the operator: whether an endpoint exists, in any account. */
  async exists(id: string): Promise<boolean> {
    return (await this.#endpoints.findOne({ _id: id }, { fields: ['_id'] })) !== null;
  }

  async countDisabled(): Promise<number> {
    return this.#endpoints.count({ enabled: false });
  }

  #update(
    accountId: string,
    id: string,
    condition: Record<string, unknown>,
    update: Parameters<DocumentCollection<EndpointDocument>['findOneAndUpdate']>[1],
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
