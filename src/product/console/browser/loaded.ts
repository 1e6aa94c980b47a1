import type { FunctionComponent } from 'preact';
import { h, useEffect, useState } from './html.ts';

/**
 * A component whose module is loaded when it is first drawn. Until then, nothing is drawn.
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
