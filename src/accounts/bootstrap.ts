import { randomText } from '../names/ids.ts';
import { DuplicateKeyError } from '../stores/documents/port.ts';
import { createAccount, createKey } from './accounts.ts';
import { newKeyText } from './keys.ts';
import type { AccountDocument, AccountsStore } from './store.ts';

const PLAN = 'scale';
export const BOOTSTRAP_CREDITS = 10_000;

export interface BootstrapSettings {
  BOOTSTRAP_EMAIL: string;
  BOOTSTRAP_PASSWORD: string;
  BOOTSTRAP_API_KEY: string;
}

/** What the first start made; a secret is there only when it was made up here, to be printed once. */
export interface Bootstrapped {
  account: AccountDocument;
  password: string | null;
  key: string | null;
}

/**
 * Makes the first account and its key on an empty store; null when there is an account already. Two hosts that start
 * at once make one: the e-mail is unique.
 * @param grant gives the account its first credits.
 */
export async function bootstrap(
  store: AccountsStore,
  settings: BootstrapSettings,
  grant: (accountId: string, credits: number) => Promise<void>,
  now: Date,
): Promise<Bootstrapped | null> {
  if (!(await store.isEmpty())) return null;
  const password = settings.BOOTSTRAP_PASSWORD || randomText(20);
  const key = settings.BOOTSTRAP_API_KEY || newKeyText();
  try {
    const account = await createAccount(
      store,
      { email: settings.BOOTSTRAP_EMAIL, password, plan: PLAN },
      now,
    );
    await grant(account._id, BOOTSTRAP_CREDITS);
    await createKey(store, account._id, 'first key', now, key);
    return {
      account,
      password: settings.BOOTSTRAP_PASSWORD === '' ? password : null,
      key: settings.BOOTSTRAP_API_KEY === '' ? key : null,
    };
  } catch (error) {
    if (error instanceof DuplicateKeyError || isTaken(error)) return null;
    throw error;
  }
}

function isTaken(error: unknown): boolean {
  return (error as { param?: string }).param === 'email';
}
