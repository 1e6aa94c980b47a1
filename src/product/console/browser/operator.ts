import { ConnectionError, type DarkroomError, readFailure } from '../../../client/errors.ts';
import { html, useEffect, useState, type View } from './html.ts';
import type { OperatorCalls } from './operator-schema.ts';
import { Button, Field, onSubmitFields } from './parts/controls.ts';
import { ErrorBox, Page, Placeholder } from './parts/page.ts';
import { useAction } from './parts/reading.ts';
import { OPERATOR_MARK_KEY, offlineState, operatorSessionState } from './session.ts';

/** The method and the path of a call, such as `GET /state`. */
type OperatorCallName = keyof OperatorCalls;
type SentPart<N extends OperatorCallName, K extends 'query' | 'body'> =
  OperatorCalls[N] extends Record<K, infer Part extends object> ? Part : never;

interface OperatorCallFields<Query extends object, Body extends object> {
  query?: Query;
  body?: Body;
  signal?: AbortSignal;
  /** The longest wait for a response, in milliseconds. */
  timeoutMs?: number;
}

const OPERATOR_PREFIX = '/operator/v1';
const TIMEOUT_MS = 70_000;
let openedSessionCount = 0;

/**
 * Calls the operator's interface and returns the data of the envelope. If no answer arrives in time, the call is
 * repeated once over a new connection, which another process may accept.
 * @throws DarkroomError
 */
export async function callOperator<N extends OperatorCallName>(
  name: N,
  fields: OperatorCallFields<SentPart<N, 'query'>, SentPart<N, 'body'>> = {},
): Promise<OperatorCalls[N]['data']> {
  const [method = '', path = ''] = name.split(' ');
  const response = await sendOperatorRequest(method, path, fields).catch((error) => {
    const mayRepeat = method === 'GET' && (error as Error).name === 'TimeoutError' && !fields.signal?.aborted;
    if (mayRepeat) return sendOperatorRequest(method, path, fields);
    throw error;
  });
  return response.status === 204 ? undefined : (await response.json()).data;
}

/**
 * Reads one report from the folder of results.
 * @throws DarkroomError
 */
export async function readReport(name: string, signal: AbortSignal): Promise<unknown> {
  return (await sendOperatorRequest('GET', `/runs/${encodeURIComponent(name)}`, { signal })).json();
}

/**
 * Opens an operator's session.
 * @param given the operator's token, or the secret of a one-time link.
 * @throws DarkroomError
 */
export async function openOperatorSession(given: { token: string } | { link: string }): Promise<void> {
  await callOperator('POST /session', { body: given });
  openedSessionCount += 1;
  localStorage.setItem(OPERATOR_MARK_KEY, 'yes');
  operatorSessionState.set('open');
}

export async function endOperatorSession(): Promise<void> {
  await callOperator('DELETE /session');
  localStorage.removeItem(OPERATOR_MARK_KEY);
  operatorSessionState.set('none');
}

/**
 * Sends a request to the operator's interface.
 * @throws DarkroomError; ConnectionError when there was no response.
 */
async function sendOperatorRequest(
  method: string,
  path: string,
  { query = {}, body, signal, timeoutMs = TIMEOUT_MS }: OperatorCallFields<object, object>,
): Promise<Response> {
  const url = new URL(OPERATOR_PREFIX + path, location.origin);
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== '') url.searchParams.set(name, String(value));
  const late = AbortSignal.timeout(timeoutMs);
  const openedBefore = openedSessionCount;
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
  // The error may belong to an earlier session. It must not end a session that was opened after the request.
  if (openedSessionCount === openedBefore && isSessionMissing(failure, path))
    operatorSessionState.set('none');
  throw failure;
}

/**
 * Whether an error means that nobody is signed in as the operator. A 404 means that OPERATOR_TOKEN is not set, except
 * below `/runs/`, where it means that the run does not exist.
 */
function isSessionMissing({ status }: DarkroomError, path: string): boolean {
  return status === 401 || (status === 404 && !path.startsWith('/runs/'));
}

const ONE_TIME_LINK_PATTERN = /^#(opl_\w+)$/;

/**
 * Shows an operator's screen if the operator is signed in, and otherwise a sign-in form. The first call of the screen
 * finds out which.
 */
export function OperatorOnly({ title, children }: { title: string; children: () => View }): View {
  const session = operatorSessionState.use();
  const { act, isActing, error } = useAction();
  const [link] = useState(() => ONE_TIME_LINK_PATTERN.exec(location.hash)?.[1]);
  useEffect(() => {
    if (link === undefined) return;
    // The link works only once, so its secret is removed from the address.
    history.replaceState(null, '', location.pathname + location.search);
    void act(() => openOperatorSession({ link })).then(
      (isOpen) => isOpen || operatorSessionState.set('none'),
    );
  }, []);
  if (session === 'open' || (session === 'unknown' && link === undefined)) return children();
  if (session === 'unknown') return html`<${Page} title=${title}><${Placeholder} rows=${4} /><//>`;

  const open = (fields: FormData) =>
    act(() => openOperatorSession({ token: String(fields.get('token') ?? '').trim() }));
  return html`<${Page} title=${title} lead="For the person who runs this service.">
    <form class="operator-sign-in card" onSubmit=${onSubmitFields(open)}>
      <${Field} label="Token of the operator" hint="OPERATOR_TOKEN, as the settings of the service have it.">
        <input name="token" type="password" autocomplete="off" required autofocus />
      <//>
      ${error !== undefined && html`<${ErrorBox} error=${error} />`}
      <${Button} kind="primary" submits isBusy=${isActing}>Open<//>
      <p class="quiet">
        Without a token, <code>npm run admin -- console --operator</code> on the host prints a link that opens these screens
        once.
      </p>
    </form>
  <//>`;
}
