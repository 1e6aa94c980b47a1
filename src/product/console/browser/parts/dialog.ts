import { html, useEffect, useRef, type View } from '../html.ts';
import { Shared } from '../shared.ts';
import { Button } from './button.ts';

interface DialogProps {
  title: string;
  onClose: () => void;
  /** Its buttons, beside the one that closes it. */
  actions?: View;
  /** The word of the button that closes it. */
  closes?: string;
  children?: View;
}

/** A dialog over the screen. The keyboard focus stays in it. Escape closes it and returns the focus. */
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

interface DialogQuestion {
  title: string;
  text: View;
  /** The text of the confirming button, which says what happens: `Delete 3 assets`. */
  act: string;
  /** Whether it cannot be undone. */
  isDangerous?: boolean;
}

const asked = new Shared<(DialogQuestion & { answer: (isAgreed: boolean) => void }) | null>(null);

/** Asks the reader, and resolves with whether they agree. */
export function confirmed(question: DialogQuestion): Promise<boolean> {
  return new Promise((resolve) => {
    asked.value?.answer(false);
    asked.set({
      ...question,
      answer: (isAgreed) => {
        asked.set(null);
        resolve(isAgreed);
      },
    });
  });
}

/** Draws the open question of `confirmed`. */
export function Dialogs() {
  const question = asked.use();
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
