import { useEffect, useMemo } from '../html.ts';

/** An object URL for bytes in memory. It is revoked when the component is removed or the bytes change. */
export function useObjectUrl(blob: Blob | undefined): string | undefined {
  const url = useMemo(() => (blob === undefined ? undefined : URL.createObjectURL(blob)), [blob]);
  useEffect(() => () => void (url !== undefined && URL.revokeObjectURL(url)), [url]);
  return url;
}
