/** The transform that an address requests, as a query of POST /images/transform, and its picture. */
export interface RequestedTransform {
  query: string;
  source: string;
  /** The requested options that are not replayed, such as `crop`. */
  without: string[];
}

/** An address of another server that cannot be replayed. */
export interface UnusableAddress {
  /** Completes "4 calls: …". */
  reason: string;
}

/** The fields of a transform, as in an address. */
interface TransformFields {
  width?: string | undefined;
  height?: string | undefined;
  fit?: string | undefined;
  quality?: string | undefined;
  format?: string | undefined;
}

/** Names of formats in addresses that are not those of the interface. */
const FORMATS: Record<string, string> = { jpg: 'jpeg', tif: 'tiff' };

/**
 * @param scale the factor for both sides, such as the device pixels per CSS pixel.
 */
function transformOf(
  { width, height, fit, quality, format }: TransformFields,
  { source, without, scale = { x: 1, y: 1 } }: Omit<RequestedTransform, 'query'> & { scale?: Scale },
): RequestedTransform | UnusableAddress {
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

interface Scale {
  x: number;
  y: number;
}

/** A side times a factor; undefined for a side that follows the other one. */
function scaled(side: string | undefined, factor: number): string | undefined {
  return Number(side) > 0 ? String(Math.max(1, Math.round(Number(side) * factor))) : undefined;
}

/** Options by the name of their preset, as in IMGPROXY_PRESETS. */
export type PresetOptions = Readonly<Record<string, string>>;

/** The resizing types of imgproxy, as values of `fit`. */
const FIT_NAMES: Record<string, string> = {
  fit: 'inside',
  fill: 'cover',
  'fill-down': 'cover',
  force: 'fill',
  auto: 'cover',
};
/** Options that change no pixel and no byte of the answer. */
const WITHOUT_EFFECT =
  /^(exp(ires)?|cb|cachebuster|fn|filename|att|return_attachment|eth|enforce_thumbnail|hs|hashsum)$/;
const IMGPROXY_SIGNATURE = /^(unsafe|insecure|_|[\w-]{40,})$/;
/** The preset that imgproxy applies to each picture. */
const DEFAULT_PRESET = 'default';

/** Reads `name=options,name=options`, the form of IMGPROXY_PRESETS. */
export function readPresets(text: string): PresetOptions {
  const pairs = text.split(',').map((one) => one.trim().split('='));
  return Object.fromEntries(pairs.filter(([name = '', options]) => name !== '' && options !== undefined));
}

/**
 * Reads `/prefix/signature/rs:fill:300:200/q:80/plain/http://…/a.jpg@webp`, or the address of the picture in base64
 * with the format as its ending. The prefix is that of IMGPROXY_PATH_PREFIX; options may be names of presets alone.
 * Null for an address of another form. Source: its documentation, "Processing an image" and "Presets".
 */
export function fromImgproxy(
  path: string,
  presets: PresetOptions,
): RequestedTransform | UnusableAddress | null {
  const parts = path.slice(1).split('/');
  const plain = parts.indexOf('plain');
  const isPresetList = (part: string) => part.split(':').every((name) => Object.hasOwn(presets, name));
  const first = parts.findIndex((part, index) => index > 0 && (isOption(part) || isPresetList(part)));
  if (first === -1 || (plain > 0 && first > plain)) return unusableOptions(parts, plain);

  const asked = new ImgproxyOptions(presets);
  if (Object.hasOwn(presets, DEFAULT_PRESET)) asked.preset(DEFAULT_PRESET);
  let end = first;
  for (; end < parts.length && parts[end] !== 'plain'; end += 1) {
    const part = parts[end] as string;
    if (isPresetList(part)) for (const name of part.split(':')) asked.preset(name);
    else if (isOption(part)) asked.option(part);
    else break;
  }
  if (!asked.isKnown && plain === -1 && !IMGPROXY_SIGNATURE.test(parts[first - 1] ?? '')) return null;
  const rest = parts.slice(end).join('/');
  const [, source = rest, format] =
    (parts[end] === 'plain' ? /^plain\/(.+?)(?:@(\w+))?$/ : /^(.+?)(?:\.(\w+))?$/).exec(rest) ?? [];
  return asked.transform(source, format);
}

/** Whether a part is an option such as `w:300`, and not a URL or the `filters:` of thumbor. */
function isOption(part: string): boolean {
  return /^[a-z_]+:[^/]/.test(part) && !part.startsWith('filters:');
}

function unusableOptions(parts: readonly string[], plain: number): UnusableAddress | null {
  if (plain < 1) return null;
  return IMGPROXY_SIGNATURE.test(parts[plain - 1] ?? '')
    ? { reason: 'no size and no format was asked for' }
    : { reason: 'presets of imgproxy that IMGPROXY_PRESETS does not define' };
}

/** The options of one address; a later one replaces an earlier one. */
class ImgproxyOptions {
  readonly #presets: PresetOptions;
  readonly #fields: TransformFields = {};
  readonly #without = new Set<string>();
  #pixelRatio = 1;
  #zoom: Scale = { x: 1, y: 1 };
  /** Whether at least one option or preset certainly belongs to imgproxy. */
  isKnown = false;

  constructor(presets: PresetOptions) {
    this.#presets = presets;
  }

  preset(name: string, outer: readonly string[] = []): void {
    this.isKnown = true;
    const options = Object.hasOwn(this.#presets, name) ? this.#presets[name] : undefined;
    if (options === undefined) this.#without.add(`preset ${name}`);
    else if (!outer.includes(name)) for (const one of options.split('/')) this.option(one, [...outer, name]);
  }

  option(text: string, outer: readonly string[] = []): void {
    const [name = '', ...values] = text.split(':');
    if (name === 'pr' || name === 'preset') for (const one of values) this.preset(one, outer);
    else if (this.#read(name, values)) this.isKnown = true;
    else if (!WITHOUT_EFFECT.test(name)) this.#without.add(name);
  }

  /**
   * Reads one option.
   * @returns false for an option that is not replayed.
   */
  #read(name: string, values: readonly string[]): boolean {
    const fields = this.#fields;
    const [first, second] = values;
    if (name === 'rs' || name === 'resize') {
      fields.fit = FIT_NAMES[first ?? ''];
      this.#size(values.slice(1));
    } else if (name === 's' || name === 'size') this.#size(values);
    else if (name === 'rt' || name === 'resizing_type') fields.fit = FIT_NAMES[first ?? ''];
    else if (name === 'w' || name === 'width') fields.width = first;
    else if (name === 'h' || name === 'height') fields.height = first;
    else if (name === 'q' || name === 'quality') fields.quality = first;
    else if (name === 'f' || name === 'format' || name === 'ext') fields.format = first;
    else if (name === 'dpr') this.#pixelRatio = factor(first);
    else if (name === 'z' || name === 'zoom') this.#zoom = { x: factor(first), y: factor(second ?? first) };
    else return false;
    return true;
  }

  #size([width, height]: readonly (string | undefined)[]): void {
    Object.assign(this.#fields, { width, height });
  }

  /**
   * @param format the ending of the address, which overrides an option.
   */
  transform(source: string, format: string | undefined): RequestedTransform | UnusableAddress {
    const { x, y } = this.#zoom;
    const scale = { x: x * this.#pixelRatio, y: y * this.#pixelRatio };
    const fields = { ...this.#fields, format: format ?? this.#fields.format };
    const without = [...this.#without];
    const read = transformOf(fields, { source, without, scale });
    const hasUnknownPreset = without.some((name) => name.startsWith('preset '));
    return 'reason' in read && hasUnknownPreset
      ? { reason: 'presets of imgproxy that IMGPROXY_PRESETS does not define' }
      : read;
  }
}

function factor(text: string | undefined): number {
  return Number(text) > 0 ? Number(text) : 1;
}

const THUMBOR_SIGNATURE = /^(unsafe|[\w=-]{27,30})$/;
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
export function fromThumbor(path: string): RequestedTransform | UnusableAddress | null {
  const segments = path.slice(1).split('/');
  const signature = segments.findIndex((segment) => THUMBOR_SIGNATURE.test(segment));
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
