import { newId, randomText } from '../../../platform/ids/ids.ts';
import {
  type DeclaredCollection,
  type DocumentCollection,
  type DocumentStore,
  sortBy,
} from '../../../platform/stores/documents/port.ts';
import { insertInFreeSlot, SLOT_INDEX } from '../../../platform/stores/documents/slots.ts';
import { signingKeysContendedError, tooManySigningKeysError } from '../errors.ts';
import { MAX_SIGNING_KEYS } from '../schema.ts';

const SECRET_CHARACTERS = 40;

export interface SigningKeyDocument {
  _id: string;
  accountId: string;
  /** The number of the key's slot in the account, from 0. */
  slot: number;
  name: string;
  /** The secret in plain text, because signatures are computed with it. */
  secret: string;
  createdAt: string;
}

export const SIGNING_KEYS_COLLECTION: DeclaredCollection = {
  name: 'signingKeys',
  indexes: [SLOT_INDEX],
  onAccountDeletion: 'delete',
};

/** The signing keys of the accounts. A revoked key is deleted. */
export class SigningKeysStore {
  readonly #keys: DocumentCollection<SigningKeyDocument>;

  private constructor(keys: DocumentCollection<SigningKeyDocument>) {
    this.#keys = keys;
  }

  static async open(documents: DocumentStore): Promise<SigningKeysStore> {
    return new SigningKeysStore(await documents.collection(SIGNING_KEYS_COLLECTION));
  }

  /**
   * Makes a key.
   * @throws ApiError resource_limit_exceeded when the account has the maximum number of keys.
   */
  async insert(accountId: string, name: string, now: Date): Promise<SigningKeyDocument> {
    const secret = `sgs_${randomText(SECRET_CHARACTERS)}`;
    const key = { _id: newId('sgk', now.getTime()), accountId, name, secret, createdAt: now.toISOString() };
    const slots = {
      limit: MAX_SIGNING_KEYS,
      tooMany: tooManySigningKeysError,
      tooContended: signingKeysContendedError,
    };
    return insertInFreeSlot(this.#keys, slots, key);
  }

  /** Newest first. */
  list(accountId: string): Promise<SigningKeyDocument[]> {
    return this.#keys.find({ accountId }, { sort: sortBy('-_id') });
  }

  /** The key with this id, of any account, because an address names no account. */
  findAnyKey(keyId: string): Promise<SigningKeyDocument | null> {
    return this.#keys.findOne({ _id: keyId });
  }

  /** Revokes a key for good; false when the account has no such key. */
  async remove(accountId: string, keyId: string): Promise<boolean> {
    return (await this.#keys.deleteOne({ _id: keyId, accountId })) === 1;
  }
}
