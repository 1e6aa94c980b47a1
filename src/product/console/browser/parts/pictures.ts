import { html, useEffect, useMemo, useRef, useState } from '../html.ts';

interface ThumbProps {
  /** The id of an asset. */
  id: string;
  /** The longest edge of the picture, in pixels of the file. */
  edge?: 64 | 128 | 256;
  /** The alternative text; empty if text beside the picture says the same. */
  alt?: string;
}

/**
 * The most previews that are cached while the page is open. Each has an object URL, which is revoked when it is
 * dropped.
 */
const MAX_KEPT = 400;
/** The most previews that are fetched at the same time, because each takes a slot of the account. */
const MAX_ASKED = 2;

const kept = new Map<string, string>();
const waiting: Array<() => void> = [];
let asked = 0;

/** A small picture of an asset. It is requested when it becomes visible; its space is reserved before. */
export function Thumb({ id, edge = 128, alt = '' }: ThumbProps) {
  const box = useRef<HTMLSpanElement>(null);
  const [url, setUrl] = useState(kept.get(`${id}/${edge}`));
  const [isMissing, setIsMissing] = useState(false);
  useEffect(() => {
    const end = new AbortController();
    setUrl(kept.get(`${id}/${edge}`));
    setIsMissing(false);
    const observer = new IntersectionObserver(([entry]) => {
      if (!entry?.isIntersecting) return;
      observer.disconnect();
      loadPreview(id, edge, end.signal).then(
        (address) => end.signal.aborted || setUrl(address),
        () => end.signal.aborted || setIsMissing(true),
      );
    });
    if (box.current) observer.observe(box.current);
    return () => {
      observer.disconnect();
      end.abort();
    };
  }, [id, edge]);
  return html`<span class="thumb" ref=${box}>
    ${
      url === undefined
        ? isMissing && html`<span class="quiet">no preview</span>`
        : html`<img src=${url} alt=${alt} />`
    }
  </span>`;
}

async function loadPreview(id: string, edge: 64 | 128 | 256, signal: AbortSignal): Promise<string> {
  const key = `${id}/${edge}`;
  const known = kept.get(key);
  if (known !== undefined) return known;
  await turn(signal);
  try {
    // The client is not among what the first screen waits for.
    const { api } = await import('../api.ts');
    const preview = await api.assets.preview(id, edge, { signal, maxRetries: 3 });
    const address = URL.createObjectURL(await preview.blob());
    kept.set(key, address);
    for (const [oldest, address] of kept) {
      if (kept.size <= MAX_KEPT) break;
      kept.delete(oldest);
      URL.revokeObjectURL(address);
    }
    return address;
  } finally {
    asked -= 1;
    waiting.shift()?.();
  }
}

/** Waits until another preview may be requested. */
async function turn(signal: AbortSignal): Promise<void> {
  while (asked >= MAX_ASKED) await new Promise<void>((resolve) => waiting.push(resolve));
  asked += 1;
  if (!signal.aborted) return;
  asked -= 1;
  waiting.shift()?.();
  throw signal.reason;
}

/** An object URL for bytes in memory. It is revoked when the component is removed or the bytes change. */
export function useObjectUrl(blob: Blob | undefined): string | undefined {
  const url = useMemo(() => (blob === undefined ? undefined : URL.createObjectURL(blob)), [blob]);
  useEffect(() => () => void (url !== undefined && URL.revokeObjectURL(url)), [url]);
  return url;
}

/** The size of a picture according to the browser. */
export async function readSize(blob: Blob): Promise<{ width: number; height: number }> {
  const bitmap = await createImageBitmap(blob);
  const { width, height } = bitmap;
  bitmap.close();
  return { width, height };
}
