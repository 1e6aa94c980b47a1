import type { Encode } from '../../protocol.ts';

/** The reason why lossless=true cannot be met, as words that follow "but"; undefined when it is not sent, or is met. */
export function lossyWriter({ lossless, format, palette, colors }: Encode): string | undefined {
  if (lossless !== true || format === undefined || format === 'webp' || format === 'avif') return undefined;
  if (format !== 'png') return `${format} has no lossless mode`;
  return (palette ?? colors !== undefined) ? 'a palette is not' : undefined;
}
