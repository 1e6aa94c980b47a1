/** The transform that an address requests, as a query of POST /images/transform, and its picture. */
export interface RequestedTransform {
  query: string;
  source: string;
}

/** Names of formats in addresses that are not those of the interface. */
const FORMATS: Record<string, string> = { jpg: 'jpeg', tif: 'tiff' };
/** The resizing types of imgproxy, as values of `fit`. */
const IMGPROXY_FITS: Record<string, string> = {
  fit: 'inside',
  fill: 'cover',
  'fill-down': 'cover',
  force: 'fill',
  auto: 'cover',
};

/** Reads an address of imgproxy or thumbor; null for every other one. */
export function transformIn(address: string): RequestedTransform | null {
  const [path = ''] = address.split('?');
  return fromImgproxy(path) ?? fromThumbor(path);
}

interface TransformFields {
  width?: string | undefined;
  height?: string | undefined;
  fit?: string | undefined;
  quality?: string | undefined;
  format?: string | undefined;
}

/**
 * `/signature/rs:fill:300:200/q:80/plain/http://…/a.jpg@webp`, or the address of the picture in base64 with the format
 * as its ending. Source: imgproxy's documentation, "Processing an image".
 */
function fromImgproxy(path: string): RequestedTransform | null {
  const [signature = '', ...parts] = path.slice(1).split('/');
  if (!/^(unsafe|insecure|_|[\w-]{40,})$/.test(signature)) return null;
  const fields: TransformFields = {};
  let known = 0;
  let index = 0;
  for (; index < parts.length && parts[index]?.includes(':') && parts[index] !== 'plain'; index += 1) {
    const [name = '', ...values] = (parts[index] as string).split(':');
    if (readOption(fields, name, values)) known += 1;
  }
  if (known === 0) return null;
  const rest = parts.slice(index).join('/');
  const isPlain = rest.startsWith('plain/');
  const [, source = rest, format] =
    (isPlain ? /^plain\/(.+?)(?:@(\w+))?$/ : /^(.+?)(?:\.(\w+))?$/).exec(rest) ?? [];
  return transformOf({ ...fields, format: format ?? fields.format }, source);
}

/** @returns false for an option that changes nothing that is replayed. */
function readOption(fields: TransformFields, name: string, values: readonly string[]): boolean {
  const size = (width?: string, height?: string) => Object.assign(fields, { width, height });
  if (name === 'rs' || name === 'resize') {
    fields.fit = IMGPROXY_FITS[values[0] ?? ''];
    size(values[1], values[2]);
  } else if (name === 's' || name === 'size') size(values[0], values[1]);
  else if (name === 'rt' || name === 'resizing_type') fields.fit = IMGPROXY_FITS[values[0] ?? ''];
  else if (name === 'w' || name === 'width') fields.width = values[0];
  else if (name === 'h' || name === 'height') fields.height = values[0];
  else if (name === 'q' || name === 'quality') fields.quality = values[0];
  else if (name === 'f' || name === 'format' || name === 'ext') fields.format = values[0];
  else return false;
  return true;
}

/**
 * `/unsafe/fit-in/300x200/smart/filters:quality(80):format(webp)/…/a.jpg`. Source: thumbor's documentation, "Usage".
 */
function fromThumbor(path: string): RequestedTransform | null {
  const [, options = '', width, height, rest = ''] =
    /^\/(?:unsafe|[\w=-]{27,30})\/((?:[\w:x-]+\/)*?)-?(\d*)x-?(\d*)\/(.+)$/.exec(path) ?? [];
  if (width === undefined) return null;
  const [, filters = '', source = rest] =
    /^(?:(?:left|center|right|top|middle|bottom|smart)\/)*(?:filters:([^/]*)\/)?(.+)$/.exec(rest) ?? [];
  const filter = (name: string) => new RegExp(`${name}\\((\\w+)\\)`).exec(filters)?.[1];
  const fit = options.includes('fit-in/') ? 'inside' : 'cover';
  return transformOf({ width, height, fit, quality: filter('quality'), format: filter('format') }, source);
}

/** Null where the picture is asked for as it is. */
function transformOf(
  { width, height, fit, quality, format }: TransformFields,
  source: string,
): RequestedTransform | null {
  const [wide, high] = [width, height].map((side) => (Number(side) > 0 ? String(Number(side)) : undefined));
  const isResize = wide !== undefined || high !== undefined;
  if (!isResize && format === undefined) return null;
  const fields = {
    op: isResize ? 'resize' : 'convert',
    width: wide,
    height: high,
    // A picture is only cut where both sides are given.
    fit: wide !== undefined && high !== undefined ? fit : undefined,
    quality: Number(quality) > 0 ? quality : undefined,
    format: format === undefined ? undefined : (FORMATS[format] ?? format),
  };
  const given = Object.entries(fields).filter((field): field is [string, string] => field[1] !== undefined);
  return { query: new URLSearchParams(given).toString(), source };
}
