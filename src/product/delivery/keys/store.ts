import { newId, randomText } from '../../../platform/ids/ids.ts';
import {
  type Collection,
  type DeclaredCollection,
  type Documents,
  order,
} from '../../../platform/stores/documents/port.ts';
import { tooContended, tooManySigningKeys } from '../errors.ts';
import { MAX_SIGNING_KEYS } from '../schema.ts';

const SECRET_CHARACTERS = 40;

export interface SigningKeyDocument {
  _id: string;
  accountId: string;
  /** The number of the key's slot in the account, from 0; a unique index over the slots enforces the limit. */
  slot: number;
  name: string;
  /** Kept as it was told, because it computes signatures. */
  secret: string;
  createdAt: string;
}

export const SIGNING_KEYS: DeclaredCollection = {
  name: 'signingKeys',
  indexes: [{ name: 'slot', fields: order('accountId', 'slot'), unique: true }],
  onAccountDeletion: 'delete',
};

/** The signing keys of the accounts. A revoked key is deleted. */
export class SigningKeysStore {
  readonly #keys: Collection<SigningKeyDocument>;

  private constructor(keys: Collection<SigningKeyDocument>) {
    this.#keys = keys;
  }

  static async open(documents: Documents): Promise<SigningKeysStore> {
    return new SigningKeysStore(await documents.collection(SIGNING_KEYS));
  }

  /** Makes a key. @throws ApiError resource_limit_exceeded when the account has as many as it may. */
  async insert(accountId: string, name: string, now: Date): Promise<SigningKeyDocument> {
    // One of the racing writers wins every round: only more writers than this at once can exhaust it.
    for (let round = 0; round < 2 * MAX_SIGNING_KEYS; round += 1) {
      const key = {
        _id: newId('sgk', now.getTime()),
        accountId,
        slot: await this.#freeSlot(accountId),
        name,
        secret: `sgs_${randomText(SECRET_CHARACTERS)}`,
        createdAt: now.toISOString(),
      };
      const { duplicates } = await this.#keys.insertMany([key]);
      if (duplicates.length === 0) return key;
    }
    throw tooContended();
  }

  async #freeSlot(accountId: string): Promise<number> {
    const held = await this.#keys.find({ accountId }, { fields: ['slot'] });
    const taken = new Set(held.map(({ slot }) => slot));
    let free = 0;
    while (taken.has(free)) free += 1;
    if (free >= MAX_SIGNING_KEYS) throw tooManySigningKeys();
    return free;
  }

  /** Newest first. */
  list(accountId: string): Promise<SigningKeyDocument[]> {
    return this.#keys.find({ accountId }, { sort: order('-_id') });
  }

  /** The key of this id, whichever account has it: an address names no account. */
  findAnyKey(keyId: string): Promise<SigningKeyDocument | null> {
    return this.#keys.findOne({ _id: keyId });
  }

  /** Revokes a key for good; false when the account has no such key. */
  async remove(accountId: string, keyId: string): Promise<boolean> {
    return (await this.#keys.deleteOne({ _id: keyId, accountId })) === 1;
  }
}
