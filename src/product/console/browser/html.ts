import htm from 'htm';
import { type ComponentChildren, h, type VNode } from 'preact';

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
