import type { Collection, Documents } from '../stores/documents/port.ts';

/** Who an account is. The same document carries its money, which is billing's alone (see billing/store.ts). */
export interface AccountDocument {
  _id: string;
  email: string;
  name: string;
  plan: string;
  passwordHash: string;
  createdAt: string;
  balance: number;
  held: number;
  movement: null | Record<string, unknown>;
  processing: { period: string; used: number; reservations: unknown[] };
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

/** A console session. The token itself is its id's secret and is stored as a hash alone. */
export interface SessionDocument {
  _id: string;
  accountId: string;
  hash: string;
  createdAt: string;
  expiresAt: string;
}

export interface AccountsStore {
  accounts: Collection<AccountDocument>;
  keys: Collection<ApiKeyDocument>;
  sessions: Collection<SessionDocument>;
}

export async function openAccountsStore(documents: Documents): Promise<AccountsStore> {
  const [accounts, keys, sessions] = await Promise.all([
    documents.collection<AccountDocument>({
      name: 'accounts',
      indexes: [{ name: 'email', fields: [['email', 1]], unique: true }],
    }),
    documents.collection<ApiKeyDocument>({
      name: 'apiKeys',
      indexes: [
        { name: 'hash', fields: [['hash', 1]], unique: true },
        {
          name: 'account',
          fields: [
            ['accountId', 1],
            ['_id', 1],
          ],
        },
      ],
    }),
    documents.collection<SessionDocument>({
      name: 'sessions',
      indexes: [
        { name: 'hash', fields: [['hash', 1]], unique: true },
        { name: 'expiresAt', fields: [['expiresAt', 1]] },
      ],
    }),
  ]);
  return { accounts, keys, sessions };
}
