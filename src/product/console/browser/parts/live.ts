import { html } from '../html.ts';
import { Button } from './button.ts';
import { useKey } from './keys.ts';
import { Time } from './values.ts';

interface LiveProps {
  isPaused: boolean;
  setPaused(isPaused: boolean): void;
  readAt: number | undefined;
}

/** Shows whether a list is updated, and lets the reader pause the updates. */
export function Live({ isPaused, setPaused, readAt }: LiveProps) {
  useKey('p', 'hold the list, or follow again', () => setPaused(!isPaused));
  return html`<span class="live">
    <span class=${isPaused ? 'live-mark held' : 'live-mark'} aria-hidden="true"></span>
    <span class="quiet">${isPaused ? html`As of <${Time} at=${readAt} />` : 'Live'}</span>
    <${Button} kind="link" onClick=${() => setPaused(!isPaused)}>${isPaused ? 'Follow' : 'Pause'}<//>
  </span>`;
}
