import { html, useEffect } from '../html.ts';
import { Shared } from '../shared.ts';
import { Dialog } from './dialog.ts';

interface KeyBinding {
  key: string;
  /** What it does, in a few words. */
  does: string;
  act: () => void;
}

const isHelpOpen = new Shared(false);
/** The keys of the screen that is shown. */
const ofScreen = new Set<KeyBinding>();

/** Assigns a key to an action of this screen. `?` lists it. The key does nothing while somebody types. */
export function useKey(key: string, does: string, act: () => void): void {
  useEffect(() => {
    const added = { key, does, act };
    ofScreen.add(added);
    return () => void ofScreen.delete(added);
  });
}

/** Listens to the keys of the whole page: `/` moves to the search, `?` lists the keys. */
export function startKeys(): void {
  document.addEventListener('keydown', (event) => {
    if (event.metaKey || event.ctrlKey || event.altKey || event.defaultPrevented) return;
    if (isTyping(event) || document.querySelector('dialog[open]') !== null) return;
    const own = [...ofScreen].find(({ key }) => key === event.key);
    if (event.key === '/') document.querySelector<HTMLInputElement>('[data-search]')?.focus();
    else if (event.key === '?') isHelpOpen.set(true);
    else if (own !== undefined) own.act();
    else return;
    event.preventDefault();
  });
}

/** The list of the keys, while it is open. */
export function KeyHelp() {
  if (!isHelpOpen.use()) return null;
  const keys: readonly (readonly [keys: string, does: string])[] = [
    ['/', 'Search'],
    ['?', 'These keys'],
    ['↑ ↓ Home End', 'Go through the rows of a list'],
    ['Enter', 'Open a row'],
    ['Space', 'Choose a row'],
    ['Esc', 'Close what is open'],
    ...[...ofScreen].map(({ key, does }) => [key, does] as const),
  ];
  return html`<${Dialog} title="Keys" onClose=${() => isHelpOpen.set(false)}>
    <dl class="facts keys">
      ${keys.map(
        ([names, does]) => html`<div key=${names}>
          <dt>${names.split(' ').map((name) => html`<kbd key=${name}>${name}</kbd> `)}</dt>
          <dd>${does}</dd>
        </div>`,
      )}
    </dl>
  <//>`;
}

function isTyping({ target }: KeyboardEvent): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement && /^(checkbox|radio|range|button)$/.test(target.type)) return false;
  return target.isContentEditable || target.matches('input, textarea, select');
}
