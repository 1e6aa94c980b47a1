import { newId, randomText } from '../../../platform/ids/ids.ts';
import {
  type Collection,
  type DeclaredCollection,
  type Documents,
  order,
} from '../../../platform/stores/documents/port.ts';
import { insertInSlot, SLOT_INDEX } from '../../../platform/stores/documents/slots.ts';
import { tooContended, tooManySigningKeys } from '../errors.ts';
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
  readonly #keys: Collection<SigningKeyDocument>;

  private constructor(keys: Collection<SigningKeyDocument>) {
    this.#keys = keys;
  }

  static async open(documents: Documents): Promise<SigningKeysStore> {
    return new SigningKeysStore(await documents.collection(SIGNING_KEYS_COLLECTION));
  }

  /**
   * Makes a key.
   * @throws ApiError resource_limit_exceeded when the account has the maximum number of keys.
   */
  async insert(accountId: string, name: string, now: Date): Promise<SigningKeyDocument> {
    const secret = `sgs_${randomText(SECRET_CHARACTERS)}`;
    const key = { _id: newId('sgk', now.getTime()), accountId, name, secret, createdAt: now.toISOString() };
    const slots = { limit: MAX_SIGNING_KEYS, tooMany: tooManySigningKeys, tooContended };
    return insertInSlot(this.#keys, slots, key);
  }

  /** Newest first. */
  list(accountId: string): Promise<SigningKeyDocument[]> {
    return this.#keys.find({ accountId }, { sort: order('-_id') });
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
