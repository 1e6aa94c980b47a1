import { html, type View } from '../html.ts';
import { Time, type Tone } from './values.ts';

export interface Happening {
  at: string | number | null;
  title: View;
  tone?: Tone;
  /** More about it, below the title. */
  view?: View;
}

/** Events, one below the other, in the given order. */
export function Timeline({ entries }: { entries: readonly Happening[] }) {
  return html`<ol class="timeline">
    ${entries.map(
      ({ at, title, tone = 'quiet', view }, index) => html`<li key=${index} class=${tone}>
        <div class="timeline-head"><span>${title}</span><${Time} at=${at} /></div>
        ${view}
      </li>`,
    )}
  </ol>`;
}
