import { invalidParamError } from '../../platform/http/errors/errors.ts';
import { newId } from '../../platform/ids/ids.ts';
import { DuplicateKeyError } from '../../platform/stores/documents/port.ts';
import { apiKeyHint, hashSecret, newApiKeyText } from './keys.ts';
import { hashPassword } from './sign-in/passwords.ts';
import type { AccountDocument, AccountsStore, ApiKeyDocument } from './store.ts';

interface NewAccount {
  email: string;
  password: string;
  name?: string;
  plan: string;
  /** Set on the first account until its secrets have been shown. */
  unfinished?: true;
}

/**
 * Creates an account without credits. E-mail addresses are unique regardless of case.
 * @throws ApiError invalid_param on `email` when it is taken.
 */
export async function createAccount(
  store: AccountsStore,
  account: NewAccount,
  now: Date,
): Promise<AccountDocument> {
  const email = account.email.toLowerCase();
  const document: AccountDocument = {
    _id: newId('acc', now.getTime()),
    email,
    name: account.name ?? email,
    plan: account.plan,
    passwordHash: await hashPassword(account.password),
    createdAt: now.toISOString(),
    ...(account.unfinished && { unfinished: true }),
  };
  try {
    await store.insert(document);
  } catch (error) {
    if (!(error instanceof DuplicateKeyError)) throw error;
    throw invalidParamError('email', `An account with the e-mail ${email} exists already: use another.`);
  }
  return document;
}

/**
 * Creates an API key. Only the return value contains its text.
 * @param text the text of the key, if the operator set it. Default: a new text.
 */
export async function createApiKey(
  store: AccountsStore,
  accountId: string,
  name: string,
  now: Date,
  text: string = newApiKeyText(),
): Promise<{ apiKey: ApiKeyDocument; key: string }> {
  const apiKey: ApiKeyDocument = {
    _id: newId('key', now.getTime()),
    accountId,
    name,
    hash: hashSecret(text),
    hint: apiKeyHint(text),
    createdAt: now.toISOString(),
    lastUsedAt: null,
    revokedAt: null,
  };
  await store.insertKey(apiKey);
  return { apiKey, key: text };
}
