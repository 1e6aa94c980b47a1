import { randomText } from '../../platform/ids/ids.ts';
import { createAccount, createApiKey, hashPassword, hashSecret, newApiKeyText } from './accounts.ts';
import type { AccountDocument, AccountsStore } from './store.ts';

const FIRST_ACCOUNT_PLAN = 'scale';
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
  /** Whether this host may create the account now. If several hosts start at the same time, only one of them may. */
  mayCreate: () => Promise<boolean>;
  now: Date;
}

/** The result of the first start. It contains the secrets that were generated, which are printed once. */
export interface BootstrapResult {
  account: AccountDocument;
  password: string | null;
  key: string | null;
  /** Must be called when the secrets have been printed. If it is not called, the next start generates new secrets. */
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
  const account = known ?? (await createFirstAccount(store, settings.BOOTSTRAP_EMAIL, password, now));
  if (account === null) return null;
  if (known !== null) await store.change(account._id, { passwordHash: await hashPassword(password) });
  await grant(account._id, BOOTSTRAP_CREDITS);
  await ensureOnlyApiKey(store, account._id, key, now);
  return {
    account,
    password: settings.BOOTSTRAP_PASSWORD === '' ? password : null,
    key: settings.BOOTSTRAP_API_KEY === '' ? key : null,
    finish: () => store.finishFirstStart(account._id),
  };
}

/**
 * Creates the first account. Null when another host has just created it. The unique e-mail address prevents a second
 * account.
 */
async function createFirstAccount(
  store: AccountsStore,
  email: string,
  password: string,
  now: Date,
): Promise<AccountDocument | null> {
  try {
    return await createAccount(store, { email, password, plan: FIRST_ACCOUNT_PLAN, unfinished: true }, now);
  } catch (error) {
    if ((error as { param?: string }).param === 'email') return null;
    throw error;
  }
}

/**
 * Makes sure that the account has the key with this text, and revokes all its other keys. An interrupted start created
 * those keys, and nobody has seen them.
 */
async function ensureOnlyApiKey(
  store: AccountsStore,
  accountId: string,
  text: string,
  now: Date,
): Promise<void> {
  const hash = hashSecret(text);
  const earlier = await store.findLiveKeys(accountId);
  for (const key of earlier) {
    if (key.hash !== hash) await store.revokeKey(accountId, key._id, now);
  }
  if (!earlier.some((key) => key.hash === hash)) await createApiKey(store, accountId, 'first key', now, text);
}

/**
 * The last output of a start, after the log: the address, and the secrets of the first start, which are never shown
 * again. The lines with the key and the first call are complete commands that can be copied.
 * @param url the address of the service, without a slash at the end.
 * @param signInAddress an address that signs the owner in. If it is null, only the console's address is printed.
 */
export function welcomeText(
  url: string,
  firstStart: Omit<BootstrapResult, 'finish'> | null,
  signInAddress: string | null,
): string {
  const lines = ['', `Darkroom is listening on ${url}`, `  documentation: ${url}/docs`];
  lines.push(`  console:       ${signInAddress ?? `${url}/console`}`);
  if (signInAddress !== null)
    lines.push('                 (this link signs you in once, within ten minutes)');
  const { account, password, key } = firstStart ?? {};
  if (password) lines.push(`  sign-in:       ${account?.email}  password: ${password}`);
  if (key) lines.push(`  API key:       ${key}`);
  if (password || key) lines.push('  These are shown only now: keep them.');
  if (key) lines.push('', `export KEY=${key}`, '', 'A first call:', '', ...firstCallLines(url));
  return `${lines.join('\n')}\n\n`;
}

/**
 * The data of the example card. All fields but the picture have a value, because a card with only a title would look
 * broken.
 */
const EXAMPLE_CARD = {
  eyebrow: 'Hello',
  title: 'It works',
  subtitle: 'This card was drawn by your own Darkroom.',
  author: 'You',
  site: 'darkroom',
};

function firstCallLines(url: string): string[] {
  const body = JSON.stringify({ templateId: 'builtin-template-social-card', data: EXAMPLE_CARD });
  return [
    'curl --fail-with-body -H "Authorization: ApiKey $KEY" -H "Content-Type: application/json" \\',
    `  -d '${body}' \\`,
    `  ${url}/api/v1/images/render -o card.png`,
  ];
}
