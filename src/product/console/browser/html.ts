import htm from 'htm';
import { type ComponentChildren, type FunctionComponent, h, type VNode } from 'preact';

export type { RefObject } from 'preact';
export { h, render } from 'preact';
export {
  useCallback,
  useEffect,
  useErrorBoundary,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'preact/hooks';

/** What a component draws, or takes to draw. */
export type View = ComponentChildren;

/** Draws markup. Values are attributes and children, and never HTML. */
export const html: (strings: TemplateStringsArray, ...values: unknown[]) => VNode = htm.bind(h) as (
  strings: TemplateStringsArray,
  ...values: unknown[]
) => VNode;

/** A value that several components draw. */
export class Shared<T> {
  #value: T;
  readonly #listeners = new Set<(value: T) => void>();

  constructor(value: T) {
    this.#value = value;
  }

  get value(): T {
    return this.#value;
  }

  set(value: T): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    for (const listener of this.#listeners) listener(value);
  }

  /** Calls the listener at every change. @returns a function that removes the listener. */
  listen(listener: (value: T) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** The value in a component. The component is drawn again when the value changes. */
  use(): T {
    const [, draw] = useState({});
    const shown = this.#value;
    useEffect(() => {
      // The value may have changed between drawing and this effect.
      if (!Object.is(shown, this.#value)) draw({});
      return this.listen(() => draw({}));
    }, [this]);
    return shown;
  }
}

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
