import { readNamedCall } from '../../../client/calls.ts';
import { ConnectionError, UnauthorizedError } from '../../../client/errors.ts';
import type { Account } from '../../../client/schema.ts';
import { Transport } from '../../../client/transport.ts';
import { accountResponse } from './first-call.ts';
import { SharedState } from './html.ts';

/** Who is signed in, as far as this page knows. */
export type Session =
  /** It is not known yet who is signed in, or the attempt to find out failed with `error`. */
  | { kind: 'unknown'; error?: unknown }
  /** Nobody is signed in. `isOver` is true after a session has ended, and false if there was none. */
  | { kind: 'none'; isOver: boolean }
  | { kind: 'cookie' | 'key'; account: Account };

/** A message to other tabs of the console. */
type TabMessage = 'signed in' | 'signed out';

const session = new SharedState<Session>({ kind: 'unknown' });
/** Whether the last call did not reach the service. */
export const offlineState = new SharedState(false);
export const operatorSessionState = new SharedState<'unknown' | 'none' | 'open'>('unknown');
/** The key in local storage by which a browser remembers that it has had an operator's session. */
export const OPERATOR_MARK_KEY = 'darkroom-operator';
/** The number of calls that wait for a response. */
export const callsInFlight = new SharedState(0);
/** The key in local storage for the account that was last signed in. */
const LAST_ACCOUNT_KEY = 'darkroom-account';
/**
 * The id of the account whose screens are shown; null for none. The screens stay visible behind the sign-in form when
 * the session ends. At the start, they are drawn before the service has confirmed the session.
 */
export const shownAccountId = new SharedState(localStorage.getItem(LAST_ACCOUNT_KEY));
/** The pasted API key. It is kept in memory only, so that it is lost when the page is closed. */
let pastedKey: string | undefined;
/** The response to the first call of this page, which reads who is signed in. Undefined once it was used. */
let firstResponse: Promise<Response> | undefined = accountResponse;
const otherTabs = new BroadcastChannel('darkroom-console');

/** Sends the calls of the first screen, which is drawn before the whole client is loaded. */
export const transport = new Transport({ baseUrl: location.origin, fetch: sendAsReader, maxRetries: 1 });
/** Sends the calls that sign in and out. */
const sessionTransport = new Transport({
  baseUrl: location.origin,
  fetch: sendWithCredential,
  maxRetries: 1,
});
/** Reads who is signed in. Its first request was sent by first-call.ts. */
const accountTransport = new Transport({
  baseUrl: location.origin,
  fetch: (input, init) => {
    const answer = firstResponse;
    firstResponse = undefined;
    return sendWithCredential(input, init, answer);
  },
  maxRetries: 1,
});

/**
 * Sends a call of a screen. If nobody is signed in, the call fails without a request, because the service counts such a
 * request as a wrong credential, and blocks a network after sixty of them.
 * @throws UnauthorizedError
 */
export async function sendAsReader(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  if (session.value.kind === 'none')
    throw new UnauthorizedError({
      status: 401,
      code: 'unauthorized',
      message: 'The session is over: sign in again.',
      retryable: false,
    });
  return sendWithCredential(input, init);
}

/**
 * Sends a request with the pasted API key, or else with the cookie. A header tells the service that a page of the
 * console sends it.
 * @param sentResponse the response to the same request, if it was sent before.
 */
async function sendWithCredential(
  input: RequestInfo | URL,
  init: RequestInit = {},
  sentResponse?: Promise<Response>,
): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set('x-console', '1');
  if (pastedKey !== undefined) headers.set('authorization', `ApiKey ${pastedKey}`);
  const asked = session.value;
  callsInFlight.set(callsInFlight.value + 1);
  try {
    const response = await (sentResponse ?? fetch(input, { ...init, headers }));
    offlineState.set(false);
    // The error may belong to an earlier session. It must not end a session that began after the request.
    if (response.status === 401 && session.value === asked) recordSessionEnd();
    return response;
  } catch (error) {
    if (!init.signal?.aborted) offlineState.set(true);
    throw error;
  } finally {
    callsInFlight.set(callsInFlight.value - 1);
  }
}

export function useSession(): Session {
  return session.use();
}

/** Whether this browser has or had an operator's session. */
export function useIsOperator(): boolean {
  return operatorSessionState.use() === 'open' || localStorage.getItem(OPERATOR_MARK_KEY) !== null;
}

/** Finds out who is signed in, and listens for sign-ins and sign-outs in other tabs. */
export function startSession(): void {
  session.listen((now) => {
    if ('account' in now) shownAccountId.set(now.account.id);
    if (now.kind === 'none' && !now.isOver) shownAccountId.set(null);
    if (now.kind === 'cookie') localStorage.setItem(LAST_ACCOUNT_KEY, now.account.id);
    if (now.kind === 'none') localStorage.removeItem(LAST_ACCOUNT_KEY);
  });
  otherTabs.onmessage = ({ data }: MessageEvent<TabMessage>) => {
    if (data === 'signed out') recordSessionEnd();
    else if (pastedKey === undefined) void refreshSession();
  };
  void refreshSession();
}

/** Reads who is signed in. A failure is stored in the session's state instead of being thrown. */
export async function refreshSession(): Promise<void> {
  try {
    await readAccount(pastedKey === undefined ? 'cookie' : 'key');
  } catch (error) {
    if (session.value.kind === 'unknown' && !(error instanceof ConnectionError))
      session.set({ kind: 'unknown', error });
  }
}

/** @throws DarkroomError */
export async function signInByPassword(email: string, password: string): Promise<void> {
  const { account } = await readNamedCall(sessionTransport, 'POST /auth/cookie', {
    body: { email, password },
  });
  recordSignIn(account);
}

/**
 * Signs in by a link.
 * @param token the token of the link, which works once.
 * @throws DarkroomError
 */
export async function signInByLink(token: string): Promise<void> {
  const { account } = await readNamedCall(sessionTransport, 'POST /auth/cookie/link', { body: { token } });
  recordSignIn(account);
}

/**
 * Signs in by an API key.
 * @param key the key as it was pasted. It may begin with a scheme, such as `ApiKey`.
 * @throws DarkroomError
 */
export async function signInByKey(key: string): Promise<void> {
  pastedKey = key.trim().replace(/^\w+ +/, '');
  try {
    await readAccount('key');
  } catch (error) {
    pastedKey = undefined;
    throw error;
  }
}

/**
 * Signs out. The session of a cookie ends in the service and in every tab; a pasted key is only forgotten by this tab.
 */
export async function signOut(): Promise<void> {
  if (session.value.kind === 'cookie') {
    await readNamedCall(sessionTransport, 'POST /auth/sign-out', {}).catch((error) => {
      // A 401 means that the session had already ended.
      if (!(error instanceof UnauthorizedError)) throw error;
    });
    otherTabs.postMessage('signed out' satisfies TabMessage);
  }
  pastedKey = undefined;
  session.set({ kind: 'none', isOver: false });
}

function recordSignIn(account: Account): void {
  pastedKey = undefined;
  session.set({ kind: 'cookie', account });
  otherTabs.postMessage('signed in' satisfies TabMessage);
}

async function readAccount(kind: 'cookie' | 'key'): Promise<void> {
  session.set({ kind, account: await readNamedCall(accountTransport, 'GET /account', {}) });
}

function recordSessionEnd(): void {
  const { kind } = session.value;
  if (kind === 'none') return;
  pastedKey = undefined;
  session.set({ kind: 'none', isOver: kind !== 'unknown' });
}
