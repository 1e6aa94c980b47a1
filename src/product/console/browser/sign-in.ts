import { html, useEffect, useRef, useState } from './html.ts';
import { Button, Field, onSubmitFields, Tabs } from './parts/controls.ts';
import { ErrorBox } from './parts/page.ts';
import { useAction } from './parts/reading.ts';
import { signInByKey, signInByLink, signInByPassword } from './session.ts';

/**
 * The sign-in form.
 * @param isOver whether a session has ended; its screen then stays visible behind the form.
 */
export function SignIn({ isOver }: { isOver: boolean }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const { act, isActing, error } = useAction();
  const [way, setWay] = useState('password');
  useEffect(() => {
    document.title = 'Sign in · Darkroom console';
    if (isOver) dialog.current?.showModal();
    const token = location.hash.slice(1);
    if (!token.startsWith('lnk_')) return;
    // The link works only once, so its token is removed from the address.
    history.replaceState(null, '', location.pathname);
    void act(() => signInByLink(token));
  }, []);

  const signIn = (fields: FormData) => {
    const fieldText = (name: string) => String(fields.get(name) ?? '');
    return act(() =>
      way === 'key'
        ? signInByKey(fieldText('key'))
        : signInByPassword(fieldText('email'), fieldText('password')),
    );
  };

  const form = html`
    <form class="sign-in" onSubmit=${onSubmitFields(signIn)}>
      <svg viewBox="0 0 32 32" width="36" height="36" aria-hidden="true" class="mark">
        <rect width="32" height="32" rx="7" />
        <circle cx="16" cy="16" r="8" />
      </svg>
      <h1>${isOver ? 'Your session has ended' : 'Sign in to Darkroom'}</h1>
      ${isOver && html`<p class="quiet">Sign in again: what you typed is kept.</p>`}
      <${Tabs}
        label="How to sign in"
        choices=${[{ name: 'password', label: 'Password' }, { name: 'key', label: 'API key' }]}
        current=${way}
        onChoose=${setWay}
      />
      ${
        way === 'password'
          ? html`
            <${Field} label="E-mail">
              <input name="email" type="email" autocomplete="username" required autofocus />
            <//>
            <${Field} label="Password">
              <input name="password" type="password" autocomplete="current-password" required />
            <//>
          `
          : html`
            <${Field} label="API key" hint="It stays in the memory of this page alone, and is gone when you leave it.">
              <input name="key" type="password" autocomplete="off" placeholder="drk_…" required autofocus />
            <//>
          `
      }
      <${ErrorBox} error=${error} />
      <${Button} kind="primary" submits isBusy=${isActing}>Sign in<//>
      <p class="quiet">
        The first start of the service printed an e-mail, a password and a link. The operator gets a new link by
        <code>npm run admin -- console</code>.
      </p>
    </form>
  `;
  if (!isOver) return html`<main id="content" class="alone">${form}</main>`;
  return html`<dialog ref=${dialog} class="modal" onCancel=${(event: Event) => event.preventDefault()} onClose=${() => dialog.current?.showModal()}>${form}</dialog>`;
}
