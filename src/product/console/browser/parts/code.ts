import { html, useState } from '../html.ts';
import { Tabs } from './tabs.ts';
import { Copy } from './values.ts';

export interface CodeSample {
  label: string;
  code: string;
}

/** The same code in several languages, one at a time, with a button that copies it. */
export function Code({ samples, label = 'Language' }: { samples: readonly CodeSample[]; label?: string }) {
  const [chosen, setChosen] = useState(samples[0]?.label ?? '');
  const shown = samples.find((sample) => sample.label === chosen) ?? samples[0];
  if (shown === undefined) return null;
  return html`<div class="code">
    <div class="code-head">
      <${Tabs}
        label=${label}
        choices=${samples.map((sample) => ({ name: sample.label, label: sample.label }))}
        current=${shown.label}
        onChoose=${setChosen}
      />
      <${Copy} text=${shown.code} label="Copy" />
    </div>
    <pre tabindex="0" role="group" aria-label=${shown.label}><code>${shown.code}</code></pre>
  </div>`;
}
