import { newId, randomText } from '../../../platform/ids/ids.ts';
import { hashSecret } from '../accounts.ts';
import type { AccountsStore, SessionDocument } from '../store.ts';

export const CONSOLE_SESSION_LIFE_MS = 12 * 60 * 60 * 1000;
const SIGN_IN_LINK_LIFE_MS = 10 * 60 * 1000;
const SECRET_LENGTH = 40;

/** Creates a session. Its token is only in the return value; the store has its hash. */
export async function createConsoleSession(
  store: AccountsStore,
  accountId: string,
  now: Date,
): Promise<{ token: string; session: SessionDocument }> {
  const token = `ses_${randomText(SECRET_LENGTH)}`;
  const session = newSessionDocument(accountId, token, now, CONSOLE_SESSION_LIFE_MS);
  await store.insertSession(session);
  return { token, session };
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
 * Makes an address that signs in the owner of the service once, within ten minutes. The owner is the oldest account, or
 * the one with the given id. The token of the address is stored as a session that no call can use, and is removed
 * together with the sessions of its account.
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
  if (account === undefined) return null;
  const token = `lnk_${randomText(SECRET_LENGTH)}`;
  const session = newSessionDocument(account._id, token, now, SIGN_IN_LINK_LIFE_MS);
  await store.insertSession({ ...session, isLink: true });
  // The token follows #, so that browsers do not send it to any server.
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
