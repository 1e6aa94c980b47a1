import type { OutputFormat } from '../../../workers/protocol.ts';
import type { AddressExtension } from './address.ts';

/** The format of an extension that names one. */
export function formatOfExtension(extension: Exclude<AddressExtension, 'auto'>): OutputFormat {
  return extension === 'jpg' ? 'jpeg' : extension;
}

/** The facts about a source that are known before it is decoded. */
export interface SourceFacts {
  format: string;
  hasAlpha: boolean;
  frames: number;
}

/**
 * The formats that `auto` tries; the smallest file is returned. They are AVIF and WebP if the client names them in
 * Accept, and the format of the source. If browsers cannot read the source's format, PNG replaces it if there is
 * transparency, else JPEG. An animation stays one, so AVIF is not tried for it.
 */
export function formatsForClient(accept: string | undefined, source: SourceFacts): OutputFormat[] {
  const isAnimated = source.frames > 1;
  const modern = MODERN.filter((format) => accepts(accept, format) && !(isAnimated && format === 'avif'));
  const own = ownFormat(source);
  return modern.includes(own) ? modern : [...modern, own];
}

/** The part of Accept that decides on the formats of `auto`. */
export function acceptedModernFormats(accept: string | undefined): OutputFormat[] {
  return formatsForClient(accept, { format: 'jpeg', hasAlpha: false, frames: 1 });
}

const MODERN: readonly OutputFormat[] = ['avif', 'webp'];
const OLD: readonly OutputFormat[] = ['jpeg', 'png', 'gif'];

/** A format that every browser reads and that loses as little of the source as possible. */
function ownFormat({ format, hasAlpha, frames }: SourceFacts): OutputFormat {
  const old = OLD.find((one) => one === format);
  if (old !== undefined) return old;
  if (frames > 1 && format === 'webp') return 'gif';
  return hasAlpha ? 'png' : 'jpeg';
}

/** Whether Accept names the format. A wildcard does not count, because clients that know neither format send it. */
function accepts(accept: string | undefined, format: OutputFormat): boolean {
  return (accept ?? '').split(',').some((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    return type === `image/${format}` && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}
