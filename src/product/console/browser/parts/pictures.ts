import { html, useEffect, useMemo, useRef, useState } from '../html.ts';

interface ThumbnailProps {
  id: string;
  /** The longest edge of the preview, in pixels. */
  edge?: 64 | 128 | 256;
  /** The alternative text; empty if text beside the picture says the same. */
  alt?: string;
}

/** The maximum number of cached previews. Each has an object URL, which is revoked when the preview is evicted. */
const MAX_CACHED_PREVIEWS = 400;
/** The maximum number of previews that are fetched at the same time, because each takes a slot of the account. */
const MAX_CONCURRENT_PREVIEW_FETCHES = 2;

/** The object URLs of previews, by the id of the asset and the edge. */
const previewUrls = new Map<string, string>();
/** The functions that start the waiting fetches of previews, in order of arrival. */
const waitingFetches: Array<() => void> = [];
let runningFetchCount = 0;

/** A small picture of an asset. Its space is reserved at once; the picture is requested when it scrolls into view. */
export function Thumbnail({ id, edge = 128, alt = '' }: ThumbnailProps) {
  const box = useRef<HTMLSpanElement>(null);
  const [url, setUrl] = useState(previewUrls.get(`${id}/${edge}`));
  const [isMissing, setIsMissing] = useState(false);
  useEffect(() => {
    const abortController = new AbortController();
    setUrl(previewUrls.get(`${id}/${edge}`));
    setIsMissing(false);
    const observer = new IntersectionObserver(([entry]) => {
      if (!entry?.isIntersecting) return;
      observer.disconnect();
      loadPreview(id, edge, abortController.signal).then(
        (address) => abortController.signal.aborted || setUrl(address),
        () => abortController.signal.aborted || setIsMissing(true),
      );
    });
    if (box.current) observer.observe(box.current);
    return () => {
      observer.disconnect();
      abortController.abort();
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
  const known = previewUrls.get(key);
  if (known !== undefined) return known;
  await waitForFetchSlot(signal);
  try {
    // The client is imported here instead of at the top, so that the first screen does not wait for it.
    const { api } = await import('../api.ts');
    const preview = await api.assets.preview(id, edge, { signal, maxRetries: 3 });
    const address = URL.createObjectURL(await preview.blob());
    previewUrls.set(key, address);
    for (const [oldest, address] of previewUrls) {
      if (previewUrls.size <= MAX_CACHED_PREVIEWS) break;
      previewUrls.delete(oldest);
      URL.revokeObjectURL(address);
    }
    return address;
  } finally {
    runningFetchCount -= 1;
    waitingFetches.shift()?.();
  }
}

/** Waits until another preview may be requested. */
async function waitForFetchSlot(signal: AbortSignal): Promise<void> {
  while (runningFetchCount >= MAX_CONCURRENT_PREVIEW_FETCHES)
    await new Promise<void>((resolve) => waitingFetches.push(resolve));
  runningFetchCount += 1;
  if (!signal.aborted) return;
  runningFetchCount -= 1;
  waitingFetches.shift()?.();
  throw signal.reason;
}

/** An object URL for bytes in memory. It is revoked when the component is removed or the bytes change. */
export function useObjectUrl(blob: Blob | undefined): string | undefined {
  const url = useMemo(() => (blob === undefined ? undefined : URL.createObjectURL(blob)), [blob]);
  useEffect(() => () => void (url !== undefined && URL.revokeObjectURL(url)), [url]);
  return url;
}

/** Reads the size of a picture in pixels by letting the browser decode it. */
export async function readPictureSize(blob: Blob): Promise<{ width: number; height: number }> {
  const bitmap = await createImageBitmap(blob);
  const { width, height } = bitmap;
  bitmap.close();
  return { width, height };
}
