import { type RequestedTransform, transformOf, type Unusable } from './requested.ts';

const SIGNATURE = /^(unsafe|[\w=-]{27,30})$/;
/** The parts between the signature and the filters, in the order of an address. Each may be absent. */
const PARTS = {
  debug: /^debug$/,
  trim: /^trim(:[\w-]+)*$/,
  crop: /^\d+x\d+:\d+x\d+$/,
  fit: /^((adaptive-)?(full-)?fit-in|stretch)$/,
  size: /^-?(\d*|orig)x-?(\d*|orig)$/,
  across: /^(left|center|right)$/,
  down: /^(top|middle|bottom)$/,
  smart: /^smart$/,
} as const;
type AddressPart = keyof typeof PARTS;
/** Parts that change pixels, and that are not replayed. */
const NOT_REPLAYED: readonly AddressPart[] = ['trim', 'crop', 'across', 'down', 'smart'];

/** One filter; an argument may hold slashes, such as the address of a watermark, and parentheses. */
const FILTER = /([\w-]+)\(((?:[^()]|\([^()]*\))*)\)/g;
const FILTERS = new RegExp(`^filters:(?:${FILTER.source}:?)+/`);
/** Filters that are read, or that change no pixel. */
const READ_FILTERS = ['quality', 'format', 'no_upscale', 'strip_exif', 'strip_icc'];

/**
 * Reads `/unsafe/fit-in/300x200/smart/filters:quality(80):format(webp)/…/a.jpg`, also below a prefix. Null for an
 * address of another form. Source: thumbor's documentation, "Usage".
 */
export function fromThumbor(path: string): RequestedTransform | Unusable | null {
  const segments = path.slice(1).split('/');
  const signature = segments.findIndex((segment) => SIGNATURE.test(segment));
  if (signature === -1) return null;
  const rest = segments.slice(signature + 1);
  if (rest[0] === 'meta') return { reason: 'metadata that thumbor was asked for' };

  const parts: Partial<Record<AddressPart, string>> = {};
  for (const part of Object.keys(PARTS) as AddressPart[])
    if (PARTS[part].test(rest[0] ?? '')) parts[part] = rest.shift() ?? '';
  const behind = rest.join('/');
  const [matched = ''] = FILTERS.exec(behind) ?? [];
  const source = behind.slice(matched.length);
  if ((Object.keys(parts).length === 0 && matched === '') || source === '') return null;

  const filters = new Map([...matched.matchAll(FILTER)].map(([, name = '', value = '']) => [name, value]));
  const { size = '' } = parts;
  const [width, height] = size.replaceAll('-', '').split('x');
  const without = [
    ...NOT_REPLAYED.filter((part) => part in parts),
    ...(size.includes('-') ? ['flip'] : []),
    ...[...filters.keys()].filter((name) => !READ_FILTERS.includes(name)),
  ];
  const fields = { width, height, fit: fitOf(parts.fit), quality: filters.get('quality') };
  return transformOf({ ...fields, format: filters.get('format') }, { source, without });
}

function fitOf(part: string | undefined): string {
  if (part === undefined) return 'cover';
  if (part === 'stretch') return 'fill';
  return part.includes('full-') ? 'outside' : 'inside';
}
