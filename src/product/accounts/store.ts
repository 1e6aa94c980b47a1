import { deleteExpiredBatch } from '../../platform/periodic-tasks.ts';
import {
  type DeclaredCollection,
  type DocumentCollection,
  type DocumentFilter,
  type DocumentStore,
  sortBy,
} from '../../platform/stores/documents/port.ts';

/**
 * The identity of an account. The same document holds its credits, which only billing reads and writes (see
 * billing/store.ts).
 */
export interface AccountDocument {
  _id: string;
  email: string;
  name: string;
  plan: string;
  passwordHash: string;
  createdAt: string;
  /** When the operator suspended the account; null or missing while it is not suspended. */
  suspendedAt?: string | null;
  /** When the operator deleted the account for good; missing while it is not deleted. */
  deletedAt?: string;
  /**
   * True on the first account until its key has been shown. If the first start is interrupted, the next one finishes
   * it.
   */
  unfinished?: true;
}

export interface ApiKeyDocument {
  _id: string;
  accountId: string;
  name: string;
  hash: string;
  hint: string;
  createdAt: string;
  lastUsedAt: string | null;
  revokedAt: string | null;
}

/** A console session, or a link that opens one. Only the hash of its token is stored. */
export interface SessionDocument {
  _id: string;
  accountId: string;
  hash: string;
  createdAt: string;
  expiresAt: string;
  /** Whether the token belongs to a sign-in link. Such a token signs in once, and no other call accepts it. */
  isLink?: true;
}

/** The credits of a new account, in the fields that billing maintains. */
const NO_CREDITS = {
  balance: 0,
  held: 0,
  movement: null,
  processing: { period: '', used: 0, reservations: [] },
};

type StoredAccount = AccountDocument & Partial<typeof NO_CREDITS>;

const HASH_INDEX = { name: 'hash', fields: sortBy('hash'), unique: true } as const;

/** Only the operator can delete an account. Its document stays as a tombstone, and its credentials are revoked. */
export const ACCOUNTS_COLLECTION: DeclaredCollection = {
  name: 'accounts',
  indexes: [{ name: 'email', fields: sortBy('email'), unique: true }],
  onAccountDeletion: 'keep',
};
export const API_KEYS_COLLECTION: DeclaredCollection = {
  name: 'apiKeys',
  indexes: [
    HASH_INDEX,
    // The index covers the query for live keys, because the embedded store requires an index with all fields of a
    // query.
    { name: 'account', fields: sortBy('accountId', 'revokedAt', '_id') },
  ],
  onAccountDeletion: 'keep',
};
export const SESSIONS_COLLECTION: DeclaredCollection = {
  name: 'sessions',
  indexes: [
    HASH_INDEX,
    { name: 'account', fields: sortBy('accountId', '_id') },
    { name: 'expiresAt', fields: sortBy('expiresAt') },
  ],
  onAccountDeletion: 'keep',
};

/**
 * The store of accounts, their keys and their sessions. Methods take the account first, except those that look up a
 * credential (an e-mail address or the hash of a secret) and those for the operator.
 */
export class AccountsStore {
  readonly #accounts: DocumentCollection<StoredAccount>;
  readonly #keys: DocumentCollection<ApiKeyDocument>;
  readonly #sessions: DocumentCollection<SessionDocument>;

  constructor(documents: DocumentStore) {
    this.#accounts = documents.collection(ACCOUNTS_COLLECTION);
    this.#keys = documents.collection(API_KEYS_COLLECTION);
    this.#sessions = documents.collection(SESSIONS_COLLECTION);
  }

  /** @throws DuplicateKeyError when the e-mail is taken. */
  async insert(account: AccountDocument): Promise<void> {
    await this.#accounts.insertOne({ ...account, ...NO_CREDITS });
  }

  find(accountId: string): Promise<AccountDocument | null> {
    return this.#accounts.findOne({ _id: accountId });
  }

  /** Reads the plan of an account, and whether it is suspended. Null when the account does not exist any more. */
  async findAccountStatus(accountId: string): Promise<{ plan: string; isSuspended: boolean } | null> {
    const fields = ['plan', 'suspendedAt', 'deletedAt'];
    const account = await this.#accounts.findOne({ _id: accountId }, { fields });
    if (account === null || account.deletedAt !== undefined) return null;
    return { plan: account.plan, isSuspended: account.suspendedAt != null };
  }

  /** @param email in lower case. */
  findByEmail(email: string): Promise<AccountDocument | null> {
    return this.#accounts.findOne({ email });
  }

  /** Changes an account for the operator; false when there is no such account, or it was deleted. */
  async change(accountId: string, change: Partial<Omit<AccountDocument, '_id'>>): Promise<boolean> {
    const filter = { _id: accountId, deletedAt: { $exists: false } };
    const { matched } = await this.#accounts.updateOne(filter, { $set: change });
    return matched === 1;
  }

  /** Records that the first start is finished, because its secrets were shown. */
  async finishFirstStart(accountId: string): Promise<void> {
    await this.#accounts.updateOne({ _id: accountId }, { $unset: { unfinished: true } });
  }

  /** For the operator: every account, oldest first. */
  findEveryAccount(): Promise<AccountDocument[]> {
    return this.#accounts.find({}, { sort: sortBy('_id') });
  }

  /** For the operator: whether there are no accounts yet. */
  async isEmpty(): Promise<boolean> {
    return (await this.#accounts.findOne({}, { fields: ['_id'] })) === null;
  }

  async insertKey(key: ApiKeyDocument): Promise<void> {
    await this.#keys.insertOne(key);
  }

  /** The keys of an account that were not revoked, oldest first. */
  findLiveKeys(accountId: string): Promise<ApiKeyDocument[]> {
    return this.#keys.find({ accountId, revokedAt: null }, { sort: sortBy('_id') });
  }

  countLiveKeys(accountId: string): Promise<number> {
    return this.#keys.count({ accountId, revokedAt: null });
  }

  /** The key whose text has this hash, revoked or not. */
  findKeyByHash(hash: string): Promise<ApiKeyDocument | null> {
    return this.#keys.findOne({ hash });
  }

  /** Revokes a key for good; false when the account has no such key, or it is revoked already. */
  async revokeKey(accountId: string, keyId: string, now: Date): Promise<boolean> {
    return this.#revoke({ _id: keyId, accountId }, now);
  }

  /** For the operator: revokes a key of any account; false when there is no such key, or it is revoked already. */
  async revokeAnyKey(keyId: string, now: Date): Promise<boolean> {
    return this.#revoke({ _id: keyId }, now);
  }

  async #revoke(key: DocumentFilter, now: Date): Promise<boolean> {
    const change = { $set: { revokedAt: now.toISOString() } };
    return (await this.#keys.updateOne({ ...key, revokedAt: null }, change)).modified === 1;
  }

  /** Records the use of a key, unless another process has recorded one since this document was read. */
  async recordKeyUse({ accountId, _id, lastUsedAt }: ApiKeyDocument, now: Date): Promise<void> {
    const change = { $set: { lastUsedAt: now.toISOString() } };
    await this.#keys.updateOne({ _id, accountId, lastUsedAt }, change);
  }

  async insertSession(session: SessionDocument): Promise<void> {
    await this.#sessions.insertOne(session);
  }

  /** The session whose token has this hash. It may have expired. */
  async findSessionByHash(hash: string): Promise<SessionDocument | null> {
    const session = await this.#sessions.findOne({ hash });
    return session?.isLink ? null : session;
  }

  /** The sign-in link whose token has this hash. It may have expired. */
  async findLinkByHash(hash: string): Promise<SessionDocument | null> {
    const link = await this.#sessions.findOne({ hash });
    return link?.isLink ? link : null;
  }

  /** Removes a session or a sign-in link. Returns false when another call has already removed it. */
  async removeSession(accountId: string, sessionId: string): Promise<boolean> {
    return (await this.#sessions.deleteOne({ _id: sessionId, accountId })) === 1;
  }

  /** The sessions and sign-in links of an account, including expired ones. */
  findSessions(accountId: string): Promise<SessionDocument[]> {
    return this.#sessions.find({ accountId });
  }

  async removeSessions(accountId: string): Promise<void> {
    await this.#sessions.deleteMany({ accountId });
  }

  sweepSessions(now: Date): Promise<number> {
    return deleteExpiredBatch(this.#sessions, now);
  }
}
