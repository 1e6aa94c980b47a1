import { SharedState, useCallback } from './html.ts';

interface ScreenAddress {
  path: string;
  query: URLSearchParams;
}

const address = new SharedState(currentAddress());

/**
 * Goes to an address of the console.
 * @param replaces whether the new address replaces the current one in the browser's history.
 */
export function navigate(to: string, { replaces = false } = {}): void {
  if (replaces) history.replaceState(null, '', to);
  else history.pushState(null, '', to);
  const { path } = address.value;
  address.set(currentAddress());
  if (address.value.path !== path) scrollTo(0, 0);
}

/**
 * Handles clicks on links within the console without loading a new page, and handles the browser's back and forward
 * buttons.
 */
export function startRouter(): void {
  addEventListener('popstate', () => address.set(currentAddress()));
  document.addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (link === null || link.target !== '' || link.hasAttribute('download')) return;
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const url = new URL(link.href, location.href);
    if (url.origin !== location.origin || !/^\/console(\/|$)/.test(url.pathname)) return;
    event.preventDefault();
    navigate(url.pathname + url.search);
  });
}

export function useAddress(): ScreenAddress {
  return address.use();
}

/**
 * State that is kept in the query of the address, so that a link restores it and the back button undoes a change.
 * @param defaults the value of each field when the address does not contain it.
 * @returns the values, and a function that changes some of them.
 */
export function useQuery<T extends Readonly<Record<string, string>>>(
  defaults: T,
): [values: T, change: (change: Partial<T>) => void] {
  const { query } = address.use();
  const values = Object.fromEntries(
    Object.entries(defaults).map(([name, fallback]) => [name, query.get(name) ?? fallback]),
  ) as T;
  const change = useCallback((changes: Partial<T>) => {
    const { path, query } = currentAddress();
    for (const [name, value] of Object.entries(changes)) {
      if (value === undefined || value === defaults[name]) query.delete(name);
      else query.set(name, value);
    }
    navigate(addressOf(path, query), { replaces: true });
  }, []);
  return [values, change];
}

export function addressOf(path: string, query: URLSearchParams | Record<string, string>): string {
  const text = new URLSearchParams(query).toString();
  return text === '' ? path : `${path}?${text}`;
}

function currentAddress(): ScreenAddress {
  return { path: location.pathname.replace(/\/+$/, ''), query: new URLSearchParams(location.search) };
}

export interface ScreenProps {
  /** The part of the path below the screen's own path: '', or `job_1` for `/console/jobs/job_1`. */
  rest: string;
}
