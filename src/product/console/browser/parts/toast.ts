import { html, type View } from '../html.ts';
import { Shared } from '../shared.ts';
import type { Tone } from './values.ts';

interface Toast {
  id: number;
  text: View;
  tone: Tone;
  undo?: (() => unknown) | undefined;
}

const SHOWN_MS = 5_000;
/** How long a message with an undo button stays. The reader needs time to read it. */
const UNDO_MS = 12_000;

const shown = new Shared<readonly Toast[]>([]);
let lastId = 0;

/**
 * Shows a message for some seconds.
 * @param undo reverses what was done.
 */
export function toast(text: View, { tone = 'good', undo }: { tone?: Tone; undo?: () => unknown } = {}): void {
  lastId += 1;
  const id = lastId;
  shown.set([...shown.value, { id, text, tone, undo }]);
  setTimeout(() => remove(id), undo === undefined ? SHOWN_MS : UNDO_MS);
}

function remove(id: number): void {
  shown.set(shown.value.filter((one) => one.id !== id));
}

/** Draws the messages of `toast`. */
export function Toasts() {
  const undone = ({ id, undo }: Toast) => {
    remove(id);
    void undo?.();
  };
  return html`<div class="toasts" role="status">
    ${shown.use().map(
      (one) => html`<div key=${one.id} class=${`toast ${one.tone}`}>
        <span>${one.text}</span>
        ${one.undo && html`<button type="button" class="button link" onClick=${() => undone(one)}>Undo</button>`}
        <button type="button" class="button icon" aria-label="Dismiss" onClick=${() => remove(one.id)}>✕</button>
      </div>`,
    )}
  </div>`;
}
