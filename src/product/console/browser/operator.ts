import { ConnectionError, type DarkroomError, readFailure } from '../../../client/errors.ts';
import { offlineState } from './session.ts';
import { Shared } from './shared.ts';

/** Whether this browser has an operator's session. */
export const operatorSessionState = new Shared<'unknown' | 'none' | 'open'>('unknown');

interface OperatorCall {
  query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined;
  body?: object;
  signal?: AbortSignal | undefined;
  /** Milliseconds until the answer. */
  timeoutMs?: number;
}

const PREFIX = '/operator/v1';
const TIMEOUT_MS = 70_000;
const WAS_OPEN = 'darkroom-operator';
/** How many sessions this page has opened. */
let opened = 0;

/** Whether this browser has or had an operator's session. */
export function useIsOperator(): boolean {
  return operatorSessionState.use() === 'open' || localStorage.getItem(WAS_OPEN) !== null;
}

/**
 * Calls the operator's interface and returns the data of the envelope. A call that is not answered in time is made once
 * more over another connection, which another process may accept.
 * @throws DarkroomError
 */
export async function callOperator<T>(method: string, path: string, call: OperatorCall = {}): Promise<T> {
  const response = await ask(method, path, call).catch((error) => {
    const mayRepeat = method === 'GET' && (error as Error).name === 'TimeoutError' && !call.signal?.aborted;
    if (mayRepeat) return ask(method, path, call);
    throw error;
  });
  if (response.status === 204) return undefined as T;
  return ((await response.json()) as { data: T }).data;
}

/**
 * Reads one report from the folder of results.
 * @throws DarkroomError
 */
export async function readReport(name: string, signal: AbortSignal): Promise<unknown> {
  return (await ask('GET', `/runs/${encodeURIComponent(name)}`, { signal })).json();
}

/**
 * Opens an operator's session.
 * @param given the operator's token, or the secret of a one-time link.
 * @throws DarkroomError
 */
export async function openOperatorSession(given: { token: string } | { link: string }): Promise<void> {
  await callOperator('POST', '/session', { body: given });
  opened += 1;
  localStorage.setItem(WAS_OPEN, 'yes');
  operatorSessionState.set('open');
}

export async function endOperatorSession(): Promise<void> {
  await callOperator('DELETE', '/session');
  localStorage.removeItem(WAS_OPEN);
  operatorSessionState.set('none');
}

/**
 * Sends a request.
 * @throws DarkroomError; ConnectionError when nothing answered.
 */
async function ask(
  method: string,
  path: string,
  { query = {}, body, signal, timeoutMs = TIMEOUT_MS }: OperatorCall,
): Promise<Response> {
  const url = new URL(PREFIX + path, location.origin);
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== '') url.searchParams.set(name, String(value));
  const late = AbortSignal.timeout(timeoutMs);
  const openedBefore = opened;
  const response = await fetch(url, {
    method,
    headers: { 'x-console': '1', ...(body !== undefined && { 'content-type': 'application/json' }) },
    signal: signal === undefined ? late : AbortSignal.any([signal, late]),
    ...(body !== undefined && { body: JSON.stringify(body) }),
  }).catch((error) => {
    if (!(error instanceof TypeError)) throw error;
    offlineState.set(true);
    throw new ConnectionError('The service cannot be reached.', { cause: error });
  });
  offlineState.set(false);
  if (response.ok) {
    if (path !== '/session') operatorSessionState.set('open');
    return response;
  }
  const failure = await readFailure(response, location.origin);
  // A late error of the previous session says nothing about a session that was opened meanwhile.
  if (opened === openedBefore && isClosed(failure, path)) operatorSessionState.set('none');
  throw failure;
}

/** Whether an error means that there is no session. Without OPERATOR_TOKEN it is a 404. */
function isClosed({ status }: DarkroomError, path: string): boolean {
  return status === 401 || (status === 404 && !path.startsWith('/runs/'));
}
