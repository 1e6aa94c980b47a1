import { isJsonObject, parseJsonOrUndefined } from '../../values/json.ts';

/**
 * One change of a call as it was sent. `param` and `rename` are paths such as `steps[2].parameters.width`, and may lead
 * into a field that is JSON text. A path that begins with a field of the query refers to the query, and any other to
 * the body. `in` names another place: a header, a file part of a form, or the request line (`method` or `path`).
 * `decode`: the text of a field or of the file is decoded and sent as the file. `encode`: the value of a field of the
 * query is percent-encoded in the URL, because its `#` has cut off the URL. `share`: a share of a side of the
 * picture, which is converted to pixels before the caller gets the change.
 */
export type CallCorrection = { param: string; in?: 'query' | 'body' | 'header' | 'part' | 'request' } & (
  | { rename: string }
  | { replace: unknown }
  | { add: unknown }
  | { remove: true }
  | { decode: 'base64' | 'data-url' }
  | { encode: 'percent' }
  | { share: number }
);

/** The parts of a call that corrections can change, as they were sent. */
export interface CorrectableCall {
  query: Readonly<Record<string, unknown>>;
  /** The parsed JSON body, or the text fields of a form by their names; undefined if the call has neither. */
  body: unknown;
  /** Whether the body is a form. */
  isForm: boolean;
}

/** The corrections that move a field from the query to the body, or from the body to the query. */
export function misplacedFieldCorrections(
  part: 'query' | 'body',
  param: string,
  value: unknown,
): CallCorrection[] {
  const from = part === 'query' ? 'body' : 'query';
  return [
    { param, remove: true, in: from },
    { param, add: value, in: part },
  ];
}

/** The correction that sets a header. */
export function headerCorrections(param: string, value: string): CallCorrection[] {
  return [{ param, replace: value, in: 'header' }];
}

/** The corrections that send the call to another method or path. */
export function requestLineCorrections(line: { method?: string; path?: string }): CallCorrection[] {
  return Object.entries(line).map(([param, replace]) => ({ param, replace, in: 'request' }));
}

/**
 * Whether a correction changes more than fields: the request line, a header, a file, or the whole body. In that case,
 * the fields are not checked until the next call.
 */
export function changesMoreThanFields(correction: CallCorrection): boolean {
  const { param, in: place = 'body' } = correction;
  const isWholeBody = param === 'body' && 'replace' in correction;
  const isRead = !('decode' in correction || 'encode' in correction);
  return !['query', 'body'].includes(place) || !isRead || isWholeBody;
}

/**
 * The path of a sibling field, such as `steps[2].parameters.width` for the name `width` and the path
 * `steps[2].parameters.widht`.
 */
export function siblingPath(path: string, name: string): string {
  const dot = path.lastIndexOf('.');
  return dot === -1 ? name : `${path.slice(0, dot)}.${name}`;
}

/** The part of the call that a correction changes: the query, the body, a header or a file part. */
export function correctedPartOf(
  { param, in: part }: CallCorrection,
  { query }: CorrectableCall,
): CallCorrection['in'] {
  const [root = ''] = pathSegmentsOf(param);
  return part ?? (Object.hasOwn(query, root) || Object.hasOwn(query, param) ? 'query' : 'body');
}

/** A copy of the call with the change. Null if the call lacks the field, or already has a field with the new name. */
export function applyCorrection(call: CorrectableCall, correction: CallCorrection): CorrectableCall | null {
  if (correctedPartOf(correction, call) === 'query') {
    const query = applyToContainer(call.query, correction, true);
    return isJsonObject(query) ? { ...call, query } : null;
  }
  const body = applyToContainer(call.body ?? {}, correction, call.isForm);
  return body === null ? null : { ...call, body };
}

/**
 * A copy of the query or the body with the change; null if what was sent does not allow the change.
 * @param isText whether the values of the container are text, as in a query.
 */
function applyToContainer(container: unknown, correction: CallCorrection, isText: boolean): unknown {
  const path = Object.hasOwn(Object(container), correction.param)
    ? [correction.param]
    : pathSegmentsOf(correction.param);
  // A name of dots and brackets alone has no segment, and is no path to a field.
  if (path.length === 0) return null;
  const sent = valueAt(container, path);
  if ((sent === undefined) !== 'add' in correction) return null;
  if ('add' in correction) return withValue(container, path, correction.add, isText);
  if ('share' in correction || 'decode' in correction || 'encode' in correction) return null;
  if ('replace' in correction) return withValue(container, path, correction.replace, isText);
  const without = withValue(container, path, undefined, isText);
  if ('remove' in correction) return without;
  const to = pathSegmentsOf(correction.rename);
  return valueAt(container, to) === undefined ? withValue(without, to, sent, isText) : null;
}

/** The value at a path of a call, in the query or in the body; undefined if there is none. */
function sentValueAt(call: CorrectableCall, param: string): unknown {
  const container = correctedPartOf({ param, remove: true }, call) === 'query' ? call.query : call.body;
  return valueAt(container, pathSegmentsOf(param));
}

/** The segments of a path: `steps[2].op` becomes `['steps', '2', 'op']`. */
function pathSegmentsOf(path: string): string[] {
  return path.split(/[.[\]]+/).filter((part) => part !== '');
}

function valueAt(container: unknown, [name, ...rest]: readonly string[]): unknown {
  if (name === undefined) return container;
  const opened = typeof container === 'string' ? parseJsonOrUndefined(container) : container;
  if (typeof opened !== 'object' || opened === null || !Object.hasOwn(opened, name)) return undefined;
  return valueAt((opened as Record<string, unknown>)[name], rest);
}

/** A copy of the container with another value at a path. If the value is undefined, the field is removed. */
function withValue(
  container: unknown,
  [name, ...rest]: readonly string[],
  value: unknown,
  isText: boolean,
): unknown {
  if (name === undefined) return isText ? asQueryText(value) : value;
  if (typeof container === 'string')
    return JSON.stringify(withValue(parseJsonOrUndefined(container), [name, ...rest], value, false));
  if (Array.isArray(container)) {
    const entry = withValue(container[Number(name)], rest, value, isText);
    return container.toSpliced(Number(name), 1, ...(entry === undefined ? [] : [entry]));
  }
  const { [name]: before = isText ? '{}' : {}, ...others } = container as Record<string, unknown>;
  const entry = withValue(before, rest, value, isText);
  return entry === undefined ? others : { ...others, [name]: entry };
}

function asQueryText(value: unknown): unknown {
  if (value === undefined || typeof value === 'string') return value;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** The width and the height of a picture in pixels. */
export interface PictureSize {
  width: number;
  height: number;
}

/** The names of the fields that hold pixels along each side of a picture. */
const PIXEL_FIELDS_OF_SIDE: Readonly<Record<keyof PictureSize, readonly string[]>> = {
  width: ['width', 'x', 'left', 'right'],
  height: ['height', 'y', 'top', 'bottom'],
};

/** The field before a length that says where a rectangle begins along that side, and the length itself. */
const RECTANGLE_FIELDS_OF_SIDE = {
  width: { start: 'x', length: 'width' },
  height: { start: 'y', length: 'height' },
} as const;
/** Shares such as 0.1 + 0.2 exceed their sum by less than this many pixels. */
const MAX_ROUNDING_ERROR_PX = 1e-6;

/**
 * A share of a side in pixels. A rectangle is rounded outwards, so that it covers all that the shares cover. Any other
 * length is rounded to the nearest pixel.
 * @param sent the call before any change, which still has the shares of the other fields.
 */
function pixelsOfShare(
  { param, share }: { param: string; share: number },
  side: keyof PictureSize,
  sidePx: number,
  sent: CorrectableCall,
): number {
  const { start, length } = RECTANGLE_FIELDS_OF_SIDE[side];
  const [startValue, lengthValue] = [start, length].map((name) =>
    sentValueAt(sent, siblingPath(param, name)),
  );
  const isRectangle = startValue !== undefined && lengthValue !== undefined;
  const firstPx = (from: number) => Math.floor(from * sidePx + MAX_ROUNDING_ERROR_PX);
  if (isRectangle && siblingPath(param, start) === param) return firstPx(share);
  if (!isRectangle || siblingPath(param, length) !== param) return Math.max(1, Math.round(share * sidePx));
  const from = Number(startValue) < 1 ? Number(startValue) : 0;
  return Math.max(1, Math.ceil((from + share) * sidePx - MAX_ROUNDING_ERROR_PX) - firstPx(from));
}

/**
 * Converts the shares of a side in corrections to pixels. Null if the length of the side is not known, because the
 * field is not a length, or because earlier steps may change the size of the picture. If one side was sent as a share,
 * a 1 for the other side means the whole side, and is converted as well.
 * @param call the call as it is after the changes so far.
 * @param sent the call before any change.
 */
export function correctionsInPixels(
  corrections: readonly CallCorrection[],
  size: PictureSize | null,
  call: CorrectableCall,
  sent: CorrectableCall,
): CallCorrection[] | null {
  const inPixels = corrections.flatMap((correction): CallCorrection[] => {
    if (!('share' in correction)) return [correction];
    const { param, share } = correction;
    const side = (['width', 'height'] as const).find((one) =>
      PIXEL_FIELDS_OF_SIDE[one].some((field) => siblingPath(param, field) === param),
    );
    if (size === null || side === undefined || /^outputs|steps\[[1-9]/.test(param)) return [];
    const wholeSides = (['width', 'height'] as const).filter(
      (one) => one !== side && String(sentValueAt(call, siblingPath(param, one))) === '1',
    );
    const pixels = pixelsOfShare({ param, share }, side, size[side], sent);
    return [
      sentValueAt(call, param) === undefined ? { param, add: pixels } : { param, replace: pixels },
      ...wholeSides.map((one) => ({ param: siblingPath(param, one), replace: size[one] })),
    ];
  });
  return inPixels.length < corrections.length ? null : inPixels;
}
