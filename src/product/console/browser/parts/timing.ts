import { html } from '../html.ts';
import { msText } from './values.ts';

/**
 * The parts of a call's time, as a bar and as a list.
 * @param timing milliseconds by part, with `total`.
 */
export function TimingBar({ timing }: { timing: Readonly<Record<string, number>> }) {
  const { total = 0, ...parts } = timing;
  const known = Object.entries(parts).filter(([, ms]) => ms > 0);
  const rest = total - known.reduce((sum, [, ms]) => sum + ms, 0);
  const shown = rest > 0.1 ? [...known, ['other', rest] as const] : known;
  return html`<div class="timing">
    <div class="timing-bar" aria-hidden="true">
      ${shown.map(
        ([name, ms]) =>
          html`<span key=${name} class=${`part-${name}`} style=${{ flexGrow: String(ms) }} title=${name}></span>`,
      )}
    </div>
    <ul>
      ${shown.map(
        ([name, ms]) =>
          html`<li key=${name}>
            <span class=${`dot part-${name}`} aria-hidden="true"></span>${name}
            <span class="figure">${msText(ms)}</span>
          </li>`,
      )}
    </ul>
  </div>`;
}
