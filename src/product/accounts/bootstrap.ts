import { randomText } from '../../platform/ids/ids.ts';
import { createAccount, createApiKey } from './accounts.ts';
import { hashSecret, newApiKeyText } from './keys.ts';
import { hashPassword } from './sign-in/passwords.ts';
import type { AccountDocument, AccountsStore } from './store.ts';

const PLAN = 'scale';
export const BOOTSTRAP_CREDITS = 10_000;

export interface BootstrapSettings {
  BOOTSTRAP_EMAIL: string;
  BOOTSTRAP_PASSWORD: string;
  BOOTSTRAP_API_KEY: string;
}

interface BootstrapOptions {
  store: AccountsStore;
  settings: BootstrapSettings;
  /** Grants the account its first credits; a second call does nothing. */
  grant: (accountId: string, credits: number) => Promise<void>;
  /** Whether this host may create the account now. Of several hosts that start at once, one may. */
  mayCreate: () => Promise<boolean>;
  now: Date;
}

/** The result of the first start. It contains a secret only if it was generated here, to be printed once. */
export interface BootstrapResult {
  account: AccountDocument;
  password: string | null;
  key: string | null;
  /** Must be called once the secrets have been printed. Otherwise the next start repeats this one, with new secrets. */
  finish(): Promise<void>;
}

/**
 * Creates the first account and its key on an empty store, or finishes a start that was interrupted. Null when an
 * account exists already.
 */
export async function bootstrapFirstAccount(options: BootstrapOptions): Promise<BootstrapResult | null> {
  const { store, settings, grant, mayCreate, now } = options;
  const known = await store.findByEmail(settings.BOOTSTRAP_EMAIL.toLowerCase());
  const mustCreate = known === null ? await store.isEmpty() : known.unfinished === true;
  if (!mustCreate || !(await mayCreate())) return null;
  const password = settings.BOOTSTRAP_PASSWORD || randomText(20);
  const key = settings.BOOTSTRAP_API_KEY || newApiKeyText();
  const account = known ?? (await createFirst(store, settings.BOOTSTRAP_EMAIL, password, now));
  if (account === null) return null;
  if (known !== null) await store.change(account._id, { passwordHash: await hashPassword(password) });
  await grant(account._id, BOOTSTRAP_CREDITS);
  await ensureKey(store, account._id, key, now);
  return {
    account,
    password: settings.BOOTSTRAP_PASSWORD === '' ? password : null,
    key: settings.BOOTSTRAP_API_KEY === '' ? key : null,
    finish: () => store.finish(account._id),
  };
}

/** Creates the first account. Null when another host has just created it: its e-mail address is unique. */
async function createFirst(
  store: AccountsStore,
  email: string,
  password: string,
  now: Date,
): Promise<AccountDocument | null> {
  try {
    return await createAccount(store, { email, password, plan: PLAN, unfinished: true }, now);
  } catch (error) {
    if ((error as { param?: string }).param === 'email') return null;
    throw error;
  }
}

/**
 * Makes sure that the account has a key. Keys of an interrupted start are revoked, because nobody has seen them, except
 * a key that the operator set.
 */
async function ensureKey(store: AccountsStore, accountId: string, text: string, now: Date): Promise<void> {
  const hash = hashSecret(text);
  const earlier = await store.findLiveKeys(accountId);
  for (const key of earlier) {
    if (key.hash !== hash) await store.revokeKey(accountId, key._id, now);
  }
  if (!earlier.some((key) => key.hash === hash)) await createApiKey(store, accountId, 'first key', now, text);
}
