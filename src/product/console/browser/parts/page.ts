import { DarkroomError, type Fix } from '../../../../client/errors.ts';
import { type FunctionComponent, h, html, useEffect, useLayoutEffect, useState, type View } from '../html.ts';
import { Button } from './controls.ts';
import type { AlternativeCall } from './correcting.ts';
import { Copy } from './values.ts';

interface PageProps {
  title: string;
  /** The purpose of the screen, in one sentence. */
  lead?: View;
  /** Buttons and links to the right of the title. */
  actions?: View;
  /** The parent screen, which is linked above the title. */
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

interface NotLoadedPageProps extends Pick<PageProps, 'title' | 'above'> {
  error: unknown;
  reload: () => void;
}

/** A screen whose data is not loaded yet, or could not be loaded. */
export function NotLoadedPage({ error, reload, ...page }: NotLoadedPageProps) {
  return html`<${Page} ...${page}><${NotLoaded} error=${error} reload=${reload} /><//>`;
}

/** A placeholder while data is loaded, or the error with a button that retries. */
export function NotLoaded({ error, reload }: Pick<NotLoadedPageProps, 'error' | 'reload'>) {
  return error === undefined
    ? html`<${Placeholder} />`
    : html`<${ErrorBox} error=${error} onRetry=${reload} />`;
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

export type LabelledValue = readonly [name: string, value: View];

/** Names with their values. Names without a value are left out. */
export function LabelledValues({ of }: { of: readonly LabelledValue[] }) {
  const shown = of.filter(
    ([, value]) => value !== undefined && value !== null && value !== '' && value !== false,
  );
  return html`<dl class="facts">
    ${shown.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}
  </dl>`;
}

const PROGRESS_DELAY_MS = 1_000;

/** Shown instead of an empty list or result. The text says how to begin. */
export function Empty({ title, text, action }: { title: string; text?: View; action?: View }) {
  return html`<div class="empty">
    <p class="empty-title">${title}</p>
    ${text && html`<p class="quiet">${text}</p>`}
    ${action}
  </div>`;
}

interface ErrorBoxProps {
  error: unknown;
  onRetry?: () => void;
  /** Called to change the form as an error suggests. If absent, the suggested changes are only shown. */
  onFix?: (fix: readonly Fix[]) => void;
  /** Called to replace the contents of the form by an alternative that an error suggests. */
  onInstead?: (instead: AlternativeCall) => void;
}

/** Shows an error and how to fix it. */
export function ErrorBox({ error, onRetry, onFix, onInstead }: ErrorBoxProps) {
  if (error === undefined || error === null) return null;
  const failure = error instanceof DarkroomError ? error : undefined;
  const message = error instanceof Error ? error.message : String(error);
  const { suggest = [], mistakes = [], param, docUrl, requestId } = failure ?? {};
  // If only some mistakes have a certain correction, the form gets these. The others are left to the user.
  const fix = [...(failure?.fix ?? []), ...mistakes.flatMap((one) => one.fix ?? [])];
  const undecided = mistakes.filter((one) => one.message !== undefined && one.message !== message);
  const others = (failure?.details.instead ?? []) as readonly AlternativeCall[];
  return html`<div class="error" role="alert">
    <p>
      ${failure && html`<code>${failure.code}</code> `}${param && html`<span class="quiet">at <code>${param}</code></span> `}
    </p>
    <p>${message}</p>
    ${
      fix.length > 0 &&
      html`<ul>${fix.map((one) => html`<li>${fixView(one)}</li>`)}</ul>
        ${onFix && html`<p><${Button} onClick=${() => onFix(fix)}>Apply<//></p>`}`
    }
    ${
      undecided.length > 0 &&
      html`<ul>${undecided.map((one) => html`<li><code>${one.param}</code>: ${one.message}</li>`)}</ul>`
    }
    ${others.length > 0 && html`<ul>${others.map((one) => html`<li>${alternativeView(one, onInstead)}</li>`)}</ul>`}
    ${suggest.length > 0 && html`<p>Did you mean ${suggest.join(', ')}?</p>`}
    <p class="error-more">
      ${onRetry && html`<${Button} onClick=${onRetry}>Try again<//>`}
      ${docUrl && html`<a href=${docUrl} target="_blank" rel="noopener">About this error</a>`}
      ${requestId && html`<span class="quiet">Request <${Copy} text=${requestId} /></span>`}
    </p>
  </div>`;
}

/**
 * An alternative call, with a button. The button puts it into the form; if the alternative is a job, it opens the form
 * of a new job.
 */
function alternativeView(instead: AlternativeCall, onInstead: ErrorBoxProps['onInstead']): View {
  const { parameters, job, ...others } = instead;
  if (job !== undefined) {
    const address = `/console/jobs/new?${new URLSearchParams({ job: JSON.stringify(job) })}`;
    return html`<a href=${address}>Do it as a job</a>, which has no deadline.`;
  }
  return html`Instead: <code>${JSON.stringify(parameters ?? others)}</code>
    ${onInstead && html` <${Button} kind="link" onClick=${() => onInstead(instead)}>Apply<//>`}`;
}

/** One change to a refused call, as a sentence. */
export function fixView({ param, rename, replace, add, remove }: Fix): View {
  const name = html`<code>${param}</code>`;
  const valueView = (given: unknown) => html`<code>${JSON.stringify(given)}</code>`;
  if (rename !== undefined) return html`Write ${html`<code>${rename}</code>`} in the place of ${name}.`;
  if (replace !== undefined) return html`Set ${name} to ${valueView(replace)}.`;
  if (add !== undefined) return html`Add ${name} with ${valueView(add)}.`;
  return remove === undefined ? name : html`Remove ${name}.`;
}

/**
 * A progress bar. It appears only after a second.
 * @param value from 0 to 1. Absent if the progress is unknown.
 */
export function Progress({ value, label = 'Working' }: { value?: number; label?: string }) {
  const [isShown, setIsShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setIsShown(true), PROGRESS_DELAY_MS);
    return () => clearTimeout(timer);
  }, []);
  return html`<div class="progress">
    ${
      isShown &&
      html`<progress max="1" value=${value} aria-label=${label}></progress><span class="quiet">${label}</span>`
    }
  </div>`;
}

/**
 * A placeholder for data that is being read.
 * @param rows the expected number of rows.
 */
export function Placeholder({ rows = 6 }: { rows?: number }) {
  return html`<div class="waiting" role="status">
    <span class="unseen">Loading</span>
    ${Array.from({ length: rows }, (_, index) => html`<div key=${index}></div>`)}
  </div>`;
}

/** A component whose module is loaded when the component is first drawn, or earlier by `load`. */
export type LazyComponent<Props> = FunctionComponent<Props> & { load: () => Promise<void> };

/**
 * Makes a component whose module is loaded when the component is first drawn. If the load fails, the component shows
 * the error and a button that retries.
 * @param waiting what is drawn during the load. Default: nothing.
 */
export function lazyComponent<Props extends object>(
  load: () => Promise<FunctionComponent<Props>>,
  waiting: FunctionComponent = () => null,
): LazyComponent<Props> {
  let loading: Promise<void> | undefined;
  let loaded: FunctionComponent<Props> | undefined;
  const loadOnce = () => {
    loading ??= load().then(
      (component) => {
        loaded = component;
      },
      (error) => {
        loading = undefined;
        throw error;
      },
    );
    return loading;
  };
  function Later(props: Props) {
    const [error, draw] = useState<unknown>();
    const start = () =>
      void loadOnce().then(
        () => draw({}),
        (failure) => draw(failure),
      );
    useLayoutEffect(() => {
      if (loaded === undefined) start();
    }, []);
    if (loaded !== undefined) return h(loaded as FunctionComponent, props as object);
    return error === undefined ? h(waiting, {}) : html`<${ErrorBox} error=${error} onRetry=${start} />`;
  }
  return Object.assign(Later, { load: loadOnce });
}
