import { html, SharedState, useEffect, useRef, type View } from '../html.ts';
import { shownAccountId } from '../session.ts';
import { Button } from './controls.ts';
import { Copy, type Tone } from './values.ts';

interface DialogProps {
  title: string;
  onClose: () => void;
  /** Further buttons, beside the one that closes the dialog. */
  actions?: View;
  /** The label of the button that closes the dialog. */
  closes?: string;
  children?: View;
}

/** A modal dialog. The keyboard focus stays in it. Escape closes it, and the focus returns to where it was. */
export function Dialog({ title, onClose, actions, closes = 'Close', children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const cancel = (event: Event) => {
    event.preventDefault();
    onClose();
  };
  return html`<dialog ref=${dialog} class="modal" aria-label=${title} onCancel=${cancel}>
    <h2>${title}</h2>
    <div class="modal-body">${children}</div>
    <div class="modal-foot">
      <${Button} onClick=${onClose}>${closes}<//>
      ${actions}
    </div>
  </dialog>`;
}

interface SecretDialogProps {
  title: string;
  /** What the secret is for, and what happens if it gets lost or known. */
  text: string;
  secret: string;
  onClose: () => void;
}

/** Shows a secret once; no call of the API returns it again. */
export function SecretDialog({ title, text, secret, onClose }: SecretDialogProps) {
  return html`<${Dialog} title=${title} onClose=${onClose} closes="I have kept it">
    <p>${text}</p>
    <p class="secret"><${Copy} text=${secret} /></p>
  <//>`;
}

export interface DialogQuestion {
  title: string;
  text: View;
  /** The label of the confirming button, which says what happens, such as `Delete 3 assets`. */
  act: string;
  /** Whether the action cannot be undone. */
  isDangerous?: boolean;
}

const openQuestion = new SharedState<(DialogQuestion & { answer: (isAgreed: boolean) => void }) | null>(null);

/** Asks the user to confirm an action. Resolves with false if the user declines. */
export function askToConfirm(question: DialogQuestion): Promise<boolean> {
  return new Promise((resolve) => {
    openQuestion.value?.answer(false);
    openQuestion.set({
      ...question,
      answer: (isAgreed) => {
        openQuestion.set(null);
        resolve(isAgreed);
      },
    });
  });
}

/** Draws the question of `askToConfirm`, if one is open. */
export function ConfirmationDialog() {
  const question = openQuestion.use();
  if (question === null) return null;
  const { title, text, act, isDangerous = false, answer } = question;
  return html`<${Dialog}
    title=${title}
    closes="Cancel"
    onClose=${() => answer(false)}
    actions=${html`<${Button} kind=${isDangerous ? 'danger' : 'primary'} onClick=${() => answer(true)}>${act}<//>`}
  >
    <p>${text}</p>
  <//>`;
}

interface Toast {
  id: number;
  text: View;
  tone: Tone;
  undo?: (() => unknown) | undefined;
}

const TOAST_DURATION_MS = 5_000;
/**
 * How long a message with an undo button is shown, in milliseconds. It is long enough to read the message and to
 * decide.
 */
const UNDO_TOAST_DURATION_MS = 12_000;

const shownToasts = new SharedState<readonly Toast[]>([]);
let lastToastId = 0;

/**
 * Shows a message for some seconds.
 * @param undo the function that reverses what was done. If given, the message has an undo button.
 */
export function toast(text: View, { tone = 'good', undo }: { tone?: Tone; undo?: () => unknown } = {}): void {
  lastToastId += 1;
  const id = lastToastId;
  shownToasts.set([...shownToasts.value, { id, text, tone, undo }]);
  setTimeout(() => removeToast(id), undo === undefined ? TOAST_DURATION_MS : UNDO_TOAST_DURATION_MS);
}

function removeToast(id: number): void {
  shownToasts.set(shownToasts.value.filter((one) => one.id !== id));
}

// When another account signs in, the questions and undo buttons of the previous account are removed.
shownAccountId.listen(() => {
  openQuestion.value?.answer(false);
  shownToasts.set([]);
});

/** Draws the messages that `toast` shows. */
export function Toasts() {
  const undoAndRemove = ({ id, undo }: Toast) => {
    removeToast(id);
    void undo?.();
  };
  return html`<div class="toasts" role="status">
    ${shownToasts.use().map(
      (one) => html`<div key=${one.id} class=${`toast ${one.tone}`}>
        <span>${one.text}</span>
        ${one.undo && html`<button type="button" class="button link" onClick=${() => undoAndRemove(one)}>Undo</button>`}
        <button type="button" class="button icon" aria-label="Dismiss" onClick=${() => removeToast(one.id)}>✕</button>
      </div>`,
    )}
  </div>`;
}

interface KeyBinding {
  key: string;
  /** The effect of the key, in a few words. */
  does: string;
  act: () => void;
}

const isHelpOpen = new SharedState(false);
/** The keys that the current screen handles. */
const screenKeys = new Set<KeyBinding>();

/**
 * Assigns a key to an action while this screen is shown. Pressing `?` lists the keys. A key does nothing while the user
 * types in a field.
 */
export function useKey(key: string, does: string, act: () => void): void {
  useEffect(() => {
    const added = { key, does, act };
    screenKeys.add(added);
    return () => void screenKeys.delete(added);
  });
}

/** Listens for keys on the whole page: `/` moves to the search field, and `?` lists all keys. */
export function listenToKeys(): void {
  document.addEventListener('keydown', (event) => {
    if (event.metaKey || event.ctrlKey || event.altKey || event.defaultPrevented) return;
    if (isTyping(event) || document.querySelector('dialog[open]') !== null) return;
    const own = [...screenKeys].find(({ key }) => key === event.key);
    if (event.key === '/') document.querySelector<HTMLInputElement>('[data-search]')?.focus();
    else if (event.key === '?') isHelpOpen.set(true);
    else if (own !== undefined) own.act();
    else return;
    event.preventDefault();
  });
}

/** The list of the keys, if the user has opened it. */
export function KeyHelp() {
  if (!isHelpOpen.use()) return null;
  const keys: readonly (readonly [keys: string, does: string])[] = [
    ['/', 'Search'],
    ['?', 'These keys'],
    ['↑ ↓ Home End', 'Go through the rows of a list'],
    ['Enter', 'Open a row'],
    ['Space', 'Choose a row'],
    ['Esc', 'Close what is open'],
    ...[...screenKeys].map(({ key, does }) => [key, does] as const),
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
