/** The transform that an address requests, as a query of POST /images/transform, and its picture. */
export interface RequestedTransform {
  query: string;
  source: string;
  /** What else the address asks for, and what is not sent, such as `crop`. */
  without: string[];
}

/** An address of another server that cannot be replayed. */
export interface Unusable {
  /** Completes "4 calls: …". */
  reason: string;
}

/** The fields of a transform, as in an address. */
export interface TransformFields {
  width?: string | undefined;
  height?: string | undefined;
  fit?: string | undefined;
  quality?: string | undefined;
  format?: string | undefined;
}

/** Names of formats in addresses that are not those of the interface. */
const FORMATS: Record<string, string> = { jpg: 'jpeg', tif: 'tiff' };

/** @param scale by which both sides are multiplied, such as the pixels of a screen per pixel of a page. */
export function transformOf(
  { width, height, fit, quality, format }: TransformFields,
  { source, without, scale = { x: 1, y: 1 } }: Omit<RequestedTransform, 'query'> & { scale?: Scale },
): RequestedTransform | Unusable {
  const [wide, high] = [scaled(width, scale.x), scaled(height, scale.y)];
  const isResize = wide !== undefined || high !== undefined;
  if (!isResize && format === undefined) return { reason: 'no size and no format was asked for' };
  const fields = {
    op: isResize ? 'resize' : 'convert',
    width: wide,
    height: high,
    // A picture is only cut if both sides are given.
    fit: wide !== undefined && high !== undefined ? fit : undefined,
    quality: Number(quality) > 0 ? quality : undefined,
    format: format === undefined ? undefined : (FORMATS[format] ?? format),
  };
  const given = Object.entries(fields).filter((field): field is [string, string] => field[1] !== undefined);
  return { query: new URLSearchParams(given).toString(), source, without };
}

export interface Scale {
  x: number;
  y: number;
}

/** Undefined for a side that follows the other one. */
function scaled(side: string | undefined, factor: number): string | undefined {
  return Number(side) > 0 ? String(Math.max(1, Math.round(Number(side) * factor))) : undefined;
}
