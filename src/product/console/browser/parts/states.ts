import { DarkroomError, type Fix } from '../../../../client/errors.ts';
import { html, useEffect, useState, type View } from '../html.ts';
import { Button } from './button.ts';
import { Copy } from './values.ts';

const SLOW_MS = 1_000;

/** Shown in place of an empty list or result: what the first step is. */
export function Empty({ title, text, action }: { title: string; text?: View; action?: View }) {
  return html`<div class="empty">
    <p class="empty-title">${title}</p>
    ${text && html`<p class="quiet">${text}</p>`}
    ${action}
  </div>`;
}

/** Why something failed, and how to mend it. */
export function ErrorBox({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  if (error === undefined || error === null) return null;
  const failure = error instanceof DarkroomError ? error : undefined;
  const message = error instanceof Error ? error.message : String(error);
  return html`<div class="error" role="alert">
    <p>
      ${failure && html`<code>${failure.code}</code> `}${
        failure?.param && html`<span class="quiet">at <code>${failure.param}</code></span> `
      }
    </p>
    <p>${message}</p>
    ${failure && failure.fix.length > 0 && html`<ul>${failure.fix.map((fix) => html`<li>${fixView(fix)}</li>`)}</ul>`}
    ${failure && failure.suggest.length > 0 && html`<p>Did you mean ${failure.suggest.join(', ')}?</p>`}
    <p class="error-more">
      ${onRetry && html`<${Button} onClick=${onRetry}>Try again<//>`}
      ${
        failure?.docUrl && html`<a href=${failure.docUrl} target="_blank" rel="noopener">About this error</a>`
      }
      ${failure?.requestId && html`<span class="quiet">Request <${Copy} text=${failure.requestId} /></span>`}
    </p>
  </div>`;
}

/** One change of a call that was refused, as a sentence. */
export function fixView({ param, rename, replace, add, remove }: Fix): View {
  const name = html`<code>${param}</code>`;
  const value = (given: unknown) => html`<code>${JSON.stringify(given)}</code>`;
  if (rename !== undefined) return html`Write ${html`<code>${rename}</code>`} in the place of ${name}.`;
  if (replace !== undefined) return html`Set ${name} to ${value(replace)}.`;
  if (add !== undefined) return html`Add ${name} with ${value(add)}.`;
  return remove === undefined ? name : html`Remove ${name}.`;
}

/**
 * The progress of some work. It is shown after a second.
 * @param value 0 to 1; left out where it is not known.
 */
export function Progress({ value, label = 'Working' }: { value?: number; label?: string }) {
  const [isShown, setIsShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setIsShown(true), SLOW_MS);
    return () => clearTimeout(timer);
  }, []);
  return html`<div class="progress">
    ${
      isShown &&
      html`<progress max="1" value=${value} aria-label=${label}></progress><span class="quiet">${label}</span>`
    }
  </div>`;
}

/** A placeholder for what is being read. @param rows about how many rows it will have. */
export function Waiting({ rows = 6 }: { rows?: number }) {
  return html`<div class="waiting" role="status">
    <span class="unseen">Loading</span>
    ${Array.from({ length: rows }, (_, index) => html`<div key=${index}></div>`)}
  </div>`;
}
