import { nodeModule } from './runtime.ts';

const TYPES: Readonly<Record<string, string>> = {
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  png: 'image/png',
  webp: 'image/webp',
  avif: 'image/avif',
  gif: 'image/gif',
  tif: 'image/tiff',
  tiff: 'image/tiff',
  svg: 'image/svg+xml',
};

/**
 * Opens a file as an image to send (Node, Deno, Bun). It is read from the disk while it is sent, and again for a retry.
 * Its name is sent too.
 */
export async function openFile(path: string): Promise<File> {
  const blob = await nodeModule('node:fs').openAsBlob(path);
  const name = path.split(/[\\/]/).at(-1) ?? path;
  return new File([blob], name, { type: imageMediaTypeOfName(name) ?? '' });
}

/** The media type for the file extension of an image; undefined for any other name. */
export function imageMediaTypeOfName(name: string): string | undefined {
  return TYPES[name.split('.').at(-1)?.toLowerCase() ?? ''];
}
