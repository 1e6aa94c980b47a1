import htm from 'htm';
import { type ComponentChildren, h, type VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';

export type { FunctionComponent, RefObject } from 'preact';
export { h, render } from 'preact';
export { useCallback, useErrorBoundary, useId, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
export { useEffect, useState };

/** What a component can return, or take as its children. */
export type View = ComponentChildren;

/** Draws markup. Interpolated values become attributes or children; text in them is never read as HTML. */
export const html: (strings: TemplateStringsArray, ...values: unknown[]) => VNode = htm.bind(h) as (
  strings: TemplateStringsArray,
  ...values: unknown[]
) => VNode;

/** A value that several components draw, and that redraws them when it changes. */
export class SharedState<T> {
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

  /**
   * Calls the listener at every change.
   * @returns a function that removes the listener.
   */
  listen(listener: (value: T) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** The value in a component. The component is drawn again when the value changes. */
  use(): T {
    const [, draw] = useState({});
    const shown = this.#value;
    useEffect(() => {
      // The value may have changed after the component was drawn and before this effect ran.
      if (!Object.is(shown, this.#value)) draw({});
      return this.listen(() => draw({}));
    }, [this]);
    return shown;
  }
}
