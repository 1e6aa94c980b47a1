import { newId, randomText } from '../../../platform/ids/ids.ts';
import { hashSecret } from '../accounts.ts';
import type { AccountsStore, SessionDocument } from '../store.ts';

export const CONSOLE_SESSION_LIFE_MS = 12 * 60 * 60 * 1000;
const SIGN_IN_LINK_LIFE_MS = 10 * 60 * 1000;
const SECRET_LENGTH = 40;

/** A session with its token, which is shown once. */
interface OpenedSession {
  token: string;
  session: SessionDocument;
}

export async function createConsoleSession(
  store: AccountsStore,
  accountId: string,
  now: Date,
): Promise<OpenedSession> {
  const token = `ses_${randomText(SECRET_LENGTH)}`;
  const session = newSessionDocument(accountId, token, now, CONSOLE_SESSION_LIFE_MS);
  await store.insertSession(session);
  return { token, session };
}

/**
 * Makes a token that opens one console session within ten minutes. The token is stored as a session that no call can
 * use, and is removed together with the sessions of its account.
 */
async function createSignInLink(store: AccountsStore, accountId: string, now: Date): Promise<string> {
  const token = `lnk_${randomText(SECRET_LENGTH)}`;
  await store.insertSession({
    ...newSessionDocument(accountId, token, now, SIGN_IN_LINK_LIFE_MS),
    isLink: true,
  });
  return token;
}

/**
 * Uses up the token of a sign-in link.
 * @returns the id of its account; null for a token that is wrong, expired or used.
 */
export async function consumeSignInLink(
  store: AccountsStore,
  token: string,
  now: Date,
): Promise<string | null> {
  const link = await store.findLinkByHash(hashSecret(token));
  if (link === null || Date.parse(link.expiresAt) <= now.getTime()) return null;
  return (await store.removeSession(link.accountId, link._id)) ? link.accountId : null;
}

/**
 * Makes an address that signs in the owner of the service once. The owner is the oldest account, or the one with the
 * given id.
 * @returns null if there is no such account.
 */
export async function createSignInAddress(
  store: AccountsStore,
  url: string,
  { accountId, now }: { accountId?: string; now: Date },
): Promise<string | null> {
  const accounts = await store.findEveryAccount();
  const account = accounts.find(
    ({ _id, deletedAt }) => deletedAt === undefined && (accountId === undefined || _id === accountId),
  );
  return account === undefined ? null : signInAddress(url, await createSignInLink(store, account._id, now));
}

/**
 * The address that signs in the person who opens it. The token follows #, so that browsers do not send it to any
 * server.
 */
function signInAddress(url: string, token: string): string {
  return `${url}/console/sign-in#${token}`;
}

function newSessionDocument(accountId: string, token: string, now: Date, lifeMs: number): SessionDocument {
  return {
    _id: newId('ses', now.getTime()),
    accountId,
    hash: hashSecret(token),
    createdAt: now.toISOString(),
    expiresAt: new Date(now.getTime() + lifeMs).toISOString(),
  };
}
