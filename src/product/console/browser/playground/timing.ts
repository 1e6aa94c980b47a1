import { html } from '../html.ts';
import { msText } from '../parts/values.ts';

/** Where the time of a call went, as one bar. @param timing milliseconds by phase, as Server-Timing tells. */
export function TimingBar({ timing }: { timing: Readonly<Record<string, number>> }) {
  const { total = 0, ...phases } = timing;
  const known = Object.entries(phases).filter(([, ms]) => ms > 0);
  const sum = known.reduce((all, [, ms]) => all + ms, 0);
  const whole = Math.max(total, sum, 0.1);
  const shown = sum < whole ? [...known, ['other', whole - sum] as const] : known;
  return html`<div class="timing">
    <div class="timing-bar" aria-hidden="true">
      ${shown.map(
        ([name, ms], index) => html`<i
          key=${name}
          class=${`series-${index % 6}`}
          style=${{ width: `${(ms / whole) * 100}%` }}
        ></i>`,
      )}
    </div>
    <ul class="legend">
      ${shown.map(([name, ms], index) => html`<li key=${name} class=${`series-${index % 6}`}>${name} <b>${msText(ms)}</b></li>`)}
    </ul>
  </div>`;
}
