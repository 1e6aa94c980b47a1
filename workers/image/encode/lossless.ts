import type { Encode } from '../../protocol.ts';

/** What does not keep lossless=true, in words that go on from "but"; undefined when it is not sent, or kept. */
export function lossyWriter({ lossless, format, palette, colors }: Encode): string | undefined {
  if (lossless !== true || format === undefined || format === 'webp' || format === 'avif') return undefined;
  if (format !== 'png') return `${format} has no lossless mode`;
  return (palette ?? colors !== undefined) ? 'a palette is not' : undefined;
}
