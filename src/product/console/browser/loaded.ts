import type { FunctionComponent } from 'preact';
import { h, useEffect, useState } from './html.ts';

/**
 * A component whose module is loaded when it is drawn first. Until then, nothing is drawn.
 * @param load is called once.
 */
export function loadedLater<Props extends object>(
  load: () => Promise<FunctionComponent<Props>>,
): FunctionComponent<Props> {
  let loading: Promise<FunctionComponent<Props>> | undefined;
  let loaded: FunctionComponent<Props> | undefined;
  return function Later(props) {
    const [, draw] = useState({});
    useEffect(() => {
      if (loaded !== undefined) return;
      loading ??= load();
      void loading.then((component) => {
        loaded = component;
        draw({});
      });
    }, []);
    return loaded === undefined ? null : h(loaded as FunctionComponent, props as object);
  };
}

const sheets = new Map<string, Promise<void>>();

/** Loads a style sheet into the page, once. */
export function loadSheet(address: URL): Promise<void> {
  const loading = sheets.get(address.href) ?? appendSheet(address.href);
  sheets.set(address.href, loading);
  return loading;
}

function appendSheet(href: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const link = document.createElement('link');
    link.rel = 'stylesheet';
    link.href = href;
    link.addEventListener('load', () => resolve());
    link.addEventListener('error', () =>
      reject(new Error('A style sheet did not arrive: load the page again.')),
    );
    document.head.append(link);
  });
}
