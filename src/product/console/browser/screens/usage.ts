import { html } from '../html.ts';
import { Page } from '../parts/page.ts';
import { Tabs } from '../parts/tabs.ts';
import { useQuery } from '../router.ts';
import type { ScreenProps } from '../screen.ts';
import { Keys } from './usage/keys.ts';
import { Ledger } from './usage/ledger.ts';
import { Sessions } from './usage/sessions.ts';
import { UsageOfWindow } from './usage/window.ts';

const VIEWS = [
  { name: 'usage', label: 'Usage' },
  { name: 'ledger', label: 'Credits' },
  { name: 'keys', label: 'API keys' },
  { name: 'sessions', label: 'Sessions' },
];

/** The screen of the account: its usage and its cost, its keys and its sessions. */
export function Screen(_: ScreenProps) {
  const [{ view }, setQuery] = useQuery({ view: 'usage' });
  return html`<${Page} title="Usage and credits">
    <${Tabs} label="What is shown" choices=${VIEWS} current=${view} onChoose=${(view: string) => setQuery({ view })} />
    ${view === 'usage' && html`<${UsageOfWindow} />`}
    ${view === 'ledger' && html`<${Ledger} />`}
    ${view === 'keys' && html`<${Keys} />`}
    ${view === 'sessions' && html`<${Sessions} />`}
  <//>`;
}
