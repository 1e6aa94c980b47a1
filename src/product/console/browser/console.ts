import { h, html, render, useEffect, useErrorBoundary, useState, type View } from './html.ts';
import { ConfirmationDialog, KeyHelp, listenToKeys, Toasts } from './parts/overlays.ts';
import { ErrorBox, lazyComponent } from './parts/page.ts';
import { navigate, startRouter, useAddress } from './router.ts';
import { type ListedScreen, SCREENS, screenAt } from './screens.ts';
import {
  callsInFlight,
  offlineState,
  refreshSession,
  type Session,
  shownAccountId,
  signOut,
  startSession,
  useIsOperator,
  useSession,
} from './session.ts';

const START_PATH = '/console';
const SIGN_IN_PATH = '/console/sign-in';
const FIRST_SCREEN_PATH = SCREENS[0]?.path ?? '';
const ACTIVITY_BAR_DELAY_MS = 1_000;
const RECONNECT_INTERVAL_MS = 2_000;

/** The module is loaded when the form is drawn, because a signed-in person does not need it. */
const SignIn = lazyComponent(async () => (await import('./sign-in.ts')).SignIn);

/** The whole page: the menu, the screen at the address, and the sign-in form if nobody is signed in. */
function ConsoleFrame() {
  const session = useSession();
  const { path } = useAddress();
  const accountId = shownAccountId.use();

  useEffect(() => {
    if ('account' in session && (path === START_PATH || path === SIGN_IN_PATH))
      navigate(FIRST_SCREEN_PATH, { replaces: true });
  }, [session.kind, path]);

  // The operator's screens need no account. They need the operator's own credential.
  const isOperators = screenAt(path)?.screen.group === 'Operate';
  const whose = isOperators ? 'operator' : accountId;
  if (path === SIGN_IN_PATH || (session.kind === 'none' && whose === null))
    return html`<${ConnectionNotice} /><${SignIn} isOver=${false} />`;
  if (whose === null)
    return html`<${ConnectionNotice} />${
      'error' in session &&
      html`<main id="content" class="alone"><${ErrorBox} error=${session.error} onRetry=${refreshSession} /></main>`
    }`;
  return html`
    <a class="skip" href="#content">Skip to the content</a>
    <${ActivityBar} />
    <${ConnectionNotice} />
    <${Menu} path=${path} session=${session} />
    <main id="content" tabindex="-1">
      <${ErrorBoundary} key=${whose}><${CurrentScreen} path=${path === START_PATH ? FIRST_SCREEN_PATH : path} /><//>
    </main>
    ${session.kind === 'none' && !isOperators && html`<${SignIn} isOver />`}
    <${ConfirmationDialog} />
    <${Toasts} />
    <${KeyHelp} />
  `;
}

function Menu({ path, session }: { path: string; session: Session }) {
  const isOperator = useIsOperator();
  const screens = SCREENS.filter(
    (screen) => screen.group !== 'Operate' || isOperator || path.startsWith(screen.path),
  );
  const groups = [...new Set(screens.map(({ group }) => group))];
  return html`
    <header class="top">
      <button type="button" class="menu-button" popovertarget="menu" aria-label="Menu">☰</button>
      <${Brand} />
    </header>
    <nav id="menu" popover aria-label="Screens">
      <${Brand} />
      ${groups.map(
        (group) => html`
          <p key=${group}>${group}</p>
          <ul>
            ${screens
              .filter((screen) => screen.group === group)
              .map((screen) => html`<${MenuEntry} key=${screen.path} screen=${screen} path=${path} />`)}
          </ul>
        `,
      )}
      <div class="who">
        ${'account' in session && html`<${SignedInAccount} session=${session} />`}
        <a href="/docs/" target="_blank" rel="noopener">Documentation</a>
        <span class="quiet"><kbd>/</kbd> search <kbd>?</kbd> keys</span>
      </div>
    </nav>
  `;
}

function Brand() {
  return html`<a class="brand" href="/console">
    <svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
      <rect width="32" height="32" rx="7" />
      <circle cx="16" cy="16" r="8" />
    </svg>
    Darkroom
  </a>`;
}

function MenuEntry({ screen, path }: { screen: ListedScreen; path: string }) {
  const isCurrent = path === screen.path || path.startsWith(`${screen.path}/`);
  const close = () => document.getElementById('menu')?.hidePopover();
  return html`<li>
    <a href=${screen.path} aria-current=${isCurrent ? 'page' : undefined} onClick=${close}>${screen.title}</a>
  </li>`;
}

function SignedInAccount({ session }: { session: Exclude<Session, { kind: 'unknown' | 'none' }> }) {
  const { email, plan } = session.account;
  return html`
    <strong title=${email}>${email}</strong>
    <span class="quiet">${plan} plan, by ${session.kind === 'key' ? 'a key' : 'a session'}</span>
    <button type="button" class="link" onClick=${() => signOut()}>Sign out</button>
  `;
}

/**
 * Draws a screen. If the screen throws, for example because its address has an invalid value, the error is drawn
 * instead.
 */
function ErrorBoundary({ children }: { children?: View }): View {
  const [error, draw] = useErrorBoundary();
  const place = useAddress();
  useEffect(() => {
    if (error !== undefined) draw();
  }, [place]);
  return error === undefined ? children : html`<${ErrorBox} error=${error} onRetry=${draw} />`;
}

function CurrentScreen({ path }: { path: string }) {
  const found = screenAt(path);
  if (found === undefined) return html`<${UnknownScreen} />`;
  const { screen, rest } = found;
  return html`<${screen.Screen} key=${screen.path} rest=${rest} />`;
}

function UnknownScreen() {
  return html`<h1>There is no such screen</h1>
    <p><a href="/console">Go to the first one</a>, or choose one in the menu.</p>`;
}

/** A thin bar at the top of the page while a call takes longer than a second. */
function ActivityBar() {
  const isBusy = callsInFlight.use() > 0;
  const [isSlow, setIsSlow] = useState(false);
  useEffect(() => {
    setIsSlow(false);
    if (!isBusy) return;
    const timer = setTimeout(() => setIsSlow(true), ACTIVITY_BAR_DELAY_MS);
    return () => clearTimeout(timer);
  }, [isBusy]);
  return html`<div class=${isBusy && isSlow ? 'activity' : 'activity none'} role="status">
    ${isBusy && isSlow && html`<span class="unseen">Waiting for the service</span>`}
  </div>`;
}

/** Tells the user that the connection is lost, and retries until it is restored. */
function ConnectionNotice() {
  const isLost = offlineState.use();
  useEffect(() => {
    if (!isLost) return;
    const timer = setInterval(refreshSession, RECONNECT_INTERVAL_MS);
    return () => clearInterval(timer);
  }, [isLost]);
  return html`<div class="connection" role="status">
    ${isLost && 'The service cannot be reached. What you typed is kept, and it is asked again every two seconds.'}
  </div>`;
}

startRouter();
listenToKeys();
startSession();
// The first draw waits for the module of the screen, so that the page is drawn only once. If the module cannot be
// loaded, the screen shows the error.
await screenAt(location.pathname)
  ?.screen.Screen.load()
  .catch(() => undefined);
render(h(ConsoleFrame, {}), document.body);
