import colour from '@img/colour';

/** The package exports its function as the module itself, where its types say a default within. */
const parse = colour as unknown as typeof colour.default;

/** Channels 0 to 255, alpha 0 to 1: as sharp takes colours. */
export interface Rgba {
  r: number;
  g: number;
  b: number;
  alpha: number;
}

/** What is read, for messages. */
export const COLOUR_NOTATIONS = 'orange, #ff8800, rgb(…), hsl(…) or hwb(…)';

const NOTATION = /^(rgb|hsl|hwb)a?\(([^()]*)\)$/i;
const VALUE = /^([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)(%|deg|turn|rad|grad)?$/i;
const DEGREES: Record<string, number> = { deg: 1, turn: 360, rad: 180 / Math.PI, grad: 0.9 };

/** One argument of a notation; a unit is lower case, and '' where there is none. */
interface Argument {
  value: number;
  unit: string;
}

interface Arguments {
  channels: [Argument, Argument, Argument];
  alpha: number;
  /** Separated by commas, the older way: it mixes no units. */
  isLegacy: boolean;
}

/** Reads a CSS colour: a name, hex digits, rgb(), hsl() or hwb() in all their forms. Undefined when it is none of those. */
export function cssColour(text: string): Rgba | undefined {
  const plain = plainNotation(text.trim());
  if (plain === undefined) return undefined;
  try {
    const parsed = parse(plain);
    const [r = 0, g = 0, b = 0] = parsed.rgb().round().array();
    return { r, g, b, alpha: parsed.alpha() };
  } catch {
    return undefined;
  }
}

/** The package reads few forms of a notation: each becomes the one that it does. */
function plainNotation(text: string): string | undefined {
  const [, name, list] = NOTATION.exec(text) ?? [];
  if (name === undefined || list === undefined) return text;
  const said = argumentsOf(list);
  if (said === undefined) return undefined;
  return name.toLowerCase() === 'rgb' ? plainRgb(said) : plainHued(name.toLowerCase(), said);
}

function argumentsOf(list: string): Arguments | undefined {
  const isLegacy = list.includes(',');
  const said = (isLegacy ? list.split(',') : spaced(list)).map((text) => argumentOf(text.trim(), isLegacy));
  const [first, second, third, alpha] = said;
  if (said.length > 4 || said.includes(undefined) || !first || !second || !third) return undefined;
  const opacity = alpha === undefined ? 1 : shareOf(alpha);
  if (opacity === undefined) return undefined;
  return { channels: [first, second, third], alpha: opacity, isLegacy };
}

/** Three arguments with spaces between, and the opacity after a slash; what is neither is no argument. */
function spaced(list: string): string[] {
  const [front = '', ...opacity] = list.split('/');
  const channels = front.trim().split(/\s+/);
  return channels.length === 3 ? [...channels, ...opacity] : [''];
}

function argumentOf(text: string, isLegacy: boolean): Argument | undefined {
  if (!isLegacy && text.toLowerCase() === 'none') return { value: 0, unit: '' };
  const [, digits, unit = ''] = VALUE.exec(text) ?? [];
  return digits === undefined ? undefined : { value: Number(digits), unit: unit.toLowerCase() };
}

/** 0 to 1, of a number or a percentage. */
function shareOf({ value, unit }: Argument): number | undefined {
  if (unit !== '' && unit !== '%') return undefined;
  return Math.min(1, Math.max(0, unit === '%' ? value / 100 : value));
}

function plainRgb({ channels, alpha, isLegacy }: Arguments): string | undefined {
  const units = channels.map(({ unit }) => unit);
  if (units.some((unit) => unit !== '' && unit !== '%')) return undefined;
  if (isLegacy && new Set(units).size > 1) return undefined;
  const values = channels.map(({ value, unit }) => bounded(unit === '%' ? value * 2.55 : value, 255));
  return `rgba(${values.join(', ')}, ${alpha.toFixed(4)})`;
}

/** hsl and hwb: an angle and two percentages. */
function plainHued(name: string, { channels, alpha, isLegacy }: Arguments): string | undefined {
  const [hue, ...shares] = channels;
  const perUnit = hue.unit === '' ? 1 : DEGREES[hue.unit];
  const fits = shares.every(({ unit }) => unit === '%' || (unit === '' && !isLegacy));
  if (perUnit === undefined || !fits || (name === 'hwb' && isLegacy)) return undefined;
  const degrees = ((((hue.value * perUnit) % 360) + 360) % 360).toFixed(3);
  const percentages = shares.map(({ value }) => `${bounded(value, 100)}%`);
  return `${name === 'hsl' ? 'hsla' : 'hwb'}(${[degrees, ...percentages].join(', ')}, ${alpha.toFixed(4)})`;
}

function bounded(value: number, limit: number): string {
  return Math.min(limit, Math.max(0, value)).toFixed(3);
}
