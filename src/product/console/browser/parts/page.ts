import { html, useEffect, type View } from '../html.ts';
import { ErrorBox, Waiting } from './states.ts';

interface PageProps {
  title: string;
  /** What the screen is for, in one sentence. */
  lead?: View;
  /** Buttons and links at the right of the title. */
  actions?: View;
  /** The screen to which this one belongs, as a link above the title. */
  above?: { title: string; path: string };
  children?: View;
}

/** The layout of a screen. */
export function Page({ title, lead, actions, above, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Darkroom console`;
  }, [title]);
  return html`
    <div class="page-head">
      <div>
        ${above && html`<a class="above" href=${above.path}>${above.title}</a>`}
        <h1>${title}</h1>
        ${lead && html`<p class="quiet">${lead}</p>`}
      </div>
      ${actions && html`<div class="actions">${actions}</div>`}
    </div>
    ${children}
  `;
}

interface UnreadPageProps extends Pick<PageProps, 'title' | 'above'> {
  error: unknown;
  reload: () => void;
}

/** A screen before its subject is read. */
export function UnreadPage({ error, reload, ...page }: UnreadPageProps) {
  return html`<${Page} ...${page}><${Unread} error=${error} reload=${reload} /><//>`;
}

/** In place of what is not read yet: the room that it takes, or why it could not be read. */
export function Unread({ error, reload }: Pick<UnreadPageProps, 'error' | 'reload'>) {
  return error === undefined ? html`<${Waiting} />` : html`<${ErrorBox} error=${error} onRetry=${reload} />`;
}

/** A part of a screen with a heading. */
export function Section({ title, actions, children }: { title: string; actions?: View; children?: View }) {
  return html`<section class="section">
    <div class="section-head">
      <h2>${title}</h2>
      ${actions && html`<div class="actions">${actions}</div>`}
    </div>
    ${children}
  </section>`;
}

export type Fact = readonly [name: string, value: View];

/** Names with their values. Names without a value are left out. */
export function Facts({ of }: { of: readonly Fact[] }) {
  const shown = of.filter(
    ([, value]) => value !== undefined && value !== null && value !== '' && value !== false,
  );
  return html`<dl class="facts">
    ${shown.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}
  </dl>`;
}
