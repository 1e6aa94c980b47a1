import { jsonRequestBody, Transport } from '../../../client/transport.ts';
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

interface OperatorCallFields<N extends OperatorCallName> {
  query?: SentPart<N, 'query'>;
  body?: SentPart<N, 'body'>;
  signal?: AbortSignal;
  /** The longest wait for a response, in milliseconds. */
  timeoutMs?: number;
}

const OPERATOR_ROOT = '/operator/v1';
const OPERATOR_CALL_TIMEOUT_MS = 70_000;
const SESSION_PATH = `${OPERATOR_ROOT}/session`;
let openedSessionCount = 0;

const transport = new Transport({
  ...{ baseUrl: location.origin, timeoutMs: OPERATOR_CALL_TIMEOUT_MS, maxRetries: 0 },
  fetch: sendAsOperator,
});

/**
 * Calls the operator's interface and returns the data of the envelope. If no answer to a read arrives, it is repeated
 * once over a new connection, which another process may accept.
 * @throws DarkroomError
 */
export async function callOperator<N extends OperatorCallName>(
  name: N,
  { query, body, ...options }: OperatorCallFields<N> = {},
): Promise<OperatorCalls[N]['data']> {
  const [method = '', path = ''] = name.split(' ');
  const sent = body === undefined ? {} : { body: jsonRequestBody(body) };
  const call = { method, root: OPERATOR_ROOT, path, query: { ...query }, ...sent };
  const maxRetries = method === 'GET' ? 1 : 0;
  return (await transport.json<OperatorCalls[N]['data']>(call, { maxRetries, ...options })).data;
}

/**
 * Reads one report from the folder of results.
 * @throws DarkroomError
 */
export async function readReport(name: string, signal: AbortSignal): Promise<unknown> {
  const call = { method: 'GET', root: OPERATOR_ROOT, path: `/runs/${encodeURIComponent(name)}` };
  return (await transport.bytes(call, { signal })).json();
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

/** Sends a request with the cookie of the operator, and records whether the operator is signed in. */
async function sendAsOperator(input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
  const { pathname } = new URL(String(input));
  const headers = new Headers(init.headers);
  headers.set('x-console', '1');
  const openedBefore = openedSessionCount;
  const response = await fetch(input, { ...init, headers }).catch((error) => {
    if (error instanceof TypeError) offlineState.set(true);
    throw error;
  });
  offlineState.set(false);
  if (response.ok && pathname !== SESSION_PATH) operatorSessionState.set('open');
  // The error may belong to an earlier session. It must not end a session that was opened after the request.
  if (openedSessionCount === openedBefore && isSessionMissing(response, pathname))
    operatorSessionState.set('none');
  return response;
}

/**
 * Whether an error means that nobody is signed in as the operator. A 404 means that OPERATOR_TOKEN is not set, except
 * for a report, which may not exist.
 */
function isSessionMissing({ status }: Response, pathname: string): boolean {
  return status === 401 || (status === 404 && !pathname.startsWith(`${OPERATOR_ROOT}/runs/`));
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
      <${ErrorBox} error=${error} />
      <${Button} kind="primary" submits isBusy=${isActing}>Open<//>
      <p class="quiet">
        Without a token, <code>npm run admin -- console --operator</code> on the host prints a link that opens these screens
        once.
      </p>
    </form>
  <//>`;
}
