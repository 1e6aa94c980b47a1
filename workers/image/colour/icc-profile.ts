import type { Chromaticity } from '../../formats/png.ts';

/**
 * Builds ICC profiles (version 2.4) of RGB displays. A profile has primaries, a white point, and one curve for all
 * channels.
 */

export type Vector3 = readonly [number, number, number];

/** The primaries, white point and curve of a display, which define the colours that the values of a picture mean. */
export interface DisplayColours {
  /** Name of the profile. */
  name: string;
  white: Chromaticity;
  red: Chromaticity;
  green: Chromaticity;
  blue: Chromaticity;
  /** Converts the value of a channel, 0 to 1, to linear light; 1 is white. */
  curve(value: number): number;
}

const D50_WHITE: Vector3 = [0.9642, 1, 0.8249];
/** The Bradford matrix, which converts XYZ to the responses of the cones. */
const BRADFORD_MATRIX: Matrix3 = [
  [0.8951, 0.2664, -0.1614],
  [-0.7502, 1.7135, 0.0367],
  [0.0389, -0.0685, 1.0296],
];

/** The number of points of a curve. It is high because the PQ curve is steep. */
const CURVE_POINT_COUNT = 4096;
/** The largest XYZ coordinate that is accepted. Those of displays are at most 1. */
const MAX_XYZ = 4;

/** Builds the profile of an RGB picture with the given colours. */
export function buildIccProfile(colours: DisplayColours): Buffer {
  const curve = curveTag(colours.curve);
  const tags: [string, Buffer][] = [
    ['desc', descriptionTag(colours.name)],
    ['cprt', tagOfType('text', Buffer.from('No copyright, use freely\0', 'latin1'))],
    ['wtpt', xyzTag(D50_WHITE)],
  ];
  const columns = colorantsOf(colours);
  return assembleProfile([
    ...tags,
    ...['r', 'g', 'b'].flatMap((channel, index): [string, Buffer][] => [
      [`${channel}XYZ`, xyzTag(columns[index] as Vector3)],
      [`${channel}TRC`, curve],
    ]),
  ]);
}

/** Whether white lies within the triangle of the primaries, so that colours can be computed. */
export function arePrimariesPossible(primaries: Omit<DisplayColours, 'name' | 'curve'>): boolean {
  const { white, red, green, blue } = primaries;
  if ([white, red, green, blue].some(([x, y]) => x < 0 || y <= 0 || x + y > 1)) return false;
  const isAhead = primarySharesOf(primaries).every((share) => share > 0);
  return (
    isAhead &&
    colorantsOf(primaries)
      .flat()
      .every((value) => Math.abs(value) < MAX_XYZ)
  );
}

type Primaries = Pick<DisplayColours, 'white' | 'red' | 'green' | 'blue'>;

/** XYZ of red, green and blue as seen under D50; they add up to its white. */
export function colorantsOf(primaries: Primaries): Vector3[] {
  const shares = primarySharesOf(primaries);
  const white = xyzOf(primaries.white);
  return primariesAtFullLuminance(primaries).map((colour, index) =>
    adaptToD50(
      makeTriple((axis) => colour[axis] * shares[index as Axis]),
      white,
    ),
  );
}

/** The shares in which red, green and blue, each at luminance 1, add up to white. */
function primarySharesOf(primaries: Primaries): Vector3 {
  const bright = primariesAtFullLuminance(primaries);
  const matrix = makeTriple((row) => makeTriple((column) => bright[column]?.[row] as number));
  return solveLinearEquations(matrix, xyzOf(primaries.white));
}

function primariesAtFullLuminance({ red, green, blue }: Primaries): Vector3[] {
  return [red, green, blue].map(xyzOf);
}

/** The XYZ values of a chromaticity at luminance 1. */
function xyzOf([x, y]: Chromaticity): Vector3 {
  return [x / y, 1, (1 - x - y) / y];
}

/** Adapts a colour from its own white point to D50. */
function adaptToD50(colour: Vector3, white: Vector3): Vector3 {
  const [cones, from, to] = [
    multiplyMatrix(BRADFORD_MATRIX, colour),
    multiplyMatrix(BRADFORD_MATRIX, white),
    multiplyMatrix(BRADFORD_MATRIX, D50_WHITE),
  ];
  const right = makeTriple((cone) => (cones[cone] * to[cone]) / from[cone]);
  return solveLinearEquations(BRADFORD_MATRIX, right);
}

type Axis = 0 | 1 | 2;
export type Matrix3 = readonly [Vector3, Vector3, Vector3];

export function makeTriple<T>(at: (axis: Axis) => T): readonly [T, T, T] {
  return [at(0), at(1), at(2)];
}

function multiplyMatrix(matrix: Matrix3, [x, y, z]: Vector3): Vector3 {
  return makeTriple((row) => matrix[row][0] * x + matrix[row][1] * y + matrix[row][2] * z);
}

/** Solves three linear equations by Cramer's rule. */
export function solveLinearEquations(matrix: Matrix3, right: Vector3): Vector3 {
  const divisor = determinant(matrix);
  const replaced = (column: Axis) =>
    makeTriple((row) => makeTriple((at) => (at === column ? right[row] : matrix[row][at])));
  return makeTriple((column) => determinant(replaced(column)) / divisor);
}

function determinant([[a, b, c], [d, e, f], [g, h, i]]: Matrix3): number {
  return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g);
}

function tagOfType(type: string, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${type}\0\0\0\0`, 'latin1'), body]);
}

/** The tag with the name of the profile. Only its ASCII form is written, without the Unicode and script forms. */
function descriptionTag(text: string): Buffer {
  const body = Buffer.alloc(4 + text.length + 1 + 8 + 3 + 67);
  body.writeUInt32BE(text.length + 1);
  body.write(text, 4, 'latin1');
  return tagOfType('desc', body);
}

function xyzTag(values: Vector3): Buffer {
  const body = Buffer.alloc(12);
  for (const [index, value] of values.entries()) body.writeInt32BE(Math.round(value * 65536), index * 4);
  return tagOfType('XYZ ', body);
}

function curveTag(curve: (value: number) => number): Buffer {
  const body = Buffer.alloc(4 + CURVE_POINT_COUNT * 2);
  body.writeUInt32BE(CURVE_POINT_COUNT);
  for (let point = 0; point < CURVE_POINT_COUNT; point++) {
    const light = Math.min(1, Math.max(0, curve(point / (CURVE_POINT_COUNT - 1))));
    body.writeUInt16BE(Math.round(light * 65535), 4 + point * 2);
  }
  return tagOfType('curv', body);
}

const PROFILE_HEADER_BYTES = 128;

/** Assembles a profile: header, tag table and tags. Tags with equal bytes share them. */
function assembleProfile(tags: [string, Buffer][]): Buffer {
  const table = Buffer.alloc(4 + tags.length * 12);
  table.writeUInt32BE(tags.length);
  const bodies: Buffer[] = [];
  const offsets = new Map<Buffer, number>();
  let free = PROFILE_HEADER_BYTES + table.length;
  for (const [index, [name, body]] of tags.entries()) {
    const at = offsets.get(body) ?? free;
    if (at === free) {
      const padded = Buffer.concat([body, Buffer.alloc(-body.length & 3)]);
      offsets.set(body, at);
      bodies.push(padded);
      free += padded.length;
    }
    table.write(name, 4 + index * 12, 'latin1');
    table.writeUInt32BE(at, 8 + index * 12);
    table.writeUInt32BE(body.length, 12 + index * 12);
  }
  const header = Buffer.alloc(PROFILE_HEADER_BYTES);
  header.writeUInt32BE(free, 0);
  header.writeUInt32BE(0x02400000, 8);
  header.write('mntrRGB XYZ ', 12, 'latin1');
  header.writeUInt16BE(2024, 24);
  header.writeUInt16BE(1, 26);
  header.writeUInt16BE(1, 28);
  header.write('acsp', 36, 'latin1');
  for (const [index, value] of D50_WHITE.entries())
    header.writeInt32BE(Math.round(value * 65536), 68 + index * 4);
  return Buffer.concat([header, table, ...bodies]);
}
