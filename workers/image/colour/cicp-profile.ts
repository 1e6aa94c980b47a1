import type { Cicp } from '../../protocol.ts';
import { linearOf } from './light.ts';

/**
 * Builds ICC profiles for colours that a file names by code points (ITU-T H.273), as AVIFs of phones and PNGs of HDR
 * tools do. A profile is built from primaries and one curve per channel. For PQ and HLG (ITU-R BT.2100) the curve also
 * tone-maps, as the EETF of ITU-R BT.2390 does, from 1,000 cd/m² to white at 203 cd/m² (BT.2408). Tones below about 90
 * cd/m² stay unchanged.
 */

type Triple = readonly [number, number, number];
type Point = readonly [x: number, y: number];

/** The white point of all of them is D65. */
const PRIMARIES: Record<number, { name: string; red: Point; green: Point; blue: Point }> = {
  1: { name: 'BT.709', red: [0.64, 0.33], green: [0.3, 0.6], blue: [0.15, 0.06] },
  9: { name: 'BT.2020', red: [0.708, 0.292], green: [0.17, 0.797], blue: [0.131, 0.046] },
  12: { name: 'Display P3', red: [0.68, 0.32], green: [0.265, 0.69], blue: [0.15, 0.06] },
};
const BT709 = 1;
const PQ = 16;
const HLG = 18;

const D65: Triple = [0.95047, 1, 1.08883];
const D50: Triple = [0.9642, 1, 0.8249];
/** The Bradford matrix. */
const CONES: Matrix = [
  [0.8951, 0.2664, -0.1614],
  [-0.7502, 1.7135, 0.0367],
  [0.0389, -0.0685, 1.0296],
];

const PEAK_NITS = 1000;
const WHITE_NITS = 203;
/** Number of points of a curve; it is high because PQ is steep. */
const CURVE_POINTS = 4096;

/** Whether the code points differ from sRGB in a way for which a profile can be built. */
export function needsProfile({ primaries, transfer }: Cicp): boolean {
  return primaries in PRIMARIES && (primaries !== BT709 || isHdr({ primaries, transfer }));
}

/** Whether colours can be brighter than white, so that their numbers make no sense in 8 bits. */
export function isHdr({ transfer }: Cicp): boolean {
  return transfer === PQ || transfer === HLG;
}

/** Builds an ICC profile, version 2.4, of a display with these colours. */
export function profileFor({ primaries, transfer }: Cicp): Buffer {
  const { name, red, green, blue } = PRIMARIES[primaries] ?? (PRIMARIES[BT709] as (typeof PRIMARIES)[number]);
  const columns = columnsOf([red, green, blue]);
  const curve = curveTag(CURVES[transfer] ?? linearOf);
  const tags: [string, Buffer][] = [
    ['desc', descriptionTag(isHdr({ primaries, transfer }) ? `${name}, tone-mapped` : name)],
    ['cprt', textTag('No copyright, use freely')],
    ['wtpt', xyzTag(D50)],
    ...['r', 'g', 'b'].flatMap((channel, index): [string, Buffer][] => [
      [`${channel}XYZ`, xyzTag(columns[index] as Triple)],
      [`${channel}TRC`, curve],
    ]),
  ];
  return assembled(tags);
}

/** Curves from a channel's value, 0 to 1, to light, where 1 is white. Transfers without a curve are close to sRGB. */
const CURVES: Record<number, (value: number) => number> = {
  4: (value) => value ** 2.2,
  5: (value) => value ** 2.8,
  8: (value) => value,
  [PQ]: (value) => toneMapped(pqToNits(value)),
  [HLG]: (value) => toneMapped(PEAK_NITS * hlgToScene(value) ** 1.2),
};

function pqToNits(value: number): number {
  const root = value ** (32 / 2523);
  return 10_000 * (Math.max(0, root - 0.8359375) / (18.8515625 - 18.6875 * root)) ** (16384 / 2610);
}

function nitsToPq(nits: number): number {
  const root = (nits / 10_000) ** (2610 / 16384);
  return ((0.8359375 + 18.8515625 * root) / (1 + 18.6875 * root)) ** (2523 / 32);
}

function hlgToScene(value: number): number {
  if (value <= 0.5) return value ** 2 / 3;
  return (Math.exp((value - 0.55991073) / 0.17883277) + 0.28466892) / 12;
}

/** BT.2390-11, 5.4.1: maps the brightest tones along a spline and keeps all others. */
function toneMapped(nits: number): number {
  const source = nitsToPq(PEAK_NITS);
  const most = nitsToPq(WHITE_NITS) / source;
  const knee = 1.5 * most - 0.5;
  const value = Math.min(1, nitsToPq(nits) / source);
  if (value <= knee) return nits / WHITE_NITS;
  const t = (value - knee) / (1 - knee);
  const mapped =
    (2 * t ** 3 - 3 * t ** 2 + 1) * knee +
    (t ** 3 - 2 * t ** 2 + t) * (1 - knee) +
    (-2 * t ** 3 + 3 * t ** 2) * most;
  return Math.min(1, pqToNits(mapped * source) / WHITE_NITS);
}

/** XYZ of red, green and blue as seen under D50; they add up to its white. */
function columnsOf(points: readonly Point[]): Triple[] {
  const bright = points.map(([x, y]): Triple => [x / y, 1, (1 - x - y) / y]);
  const shares = solve(
    triple((row) => triple((column) => bright[column]?.[row] as number)),
    D65,
  );
  return bright.map((colour, index) => adapted(triple((axis) => colour[axis] * shares[index as Axis])));
}

/** A colour under D65 as it is seen under D50. */
function adapted(colour: Triple): Triple {
  const [cones, from, to] = [times(CONES, colour), times(CONES, D65), times(CONES, D50)];
  return solve(
    CONES,
    triple((cone) => (cones[cone] * to[cone]) / from[cone]),
  );
}

type Axis = 0 | 1 | 2;
type Matrix = readonly [Triple, Triple, Triple];

function triple<T>(at: (axis: Axis) => T): readonly [T, T, T] {
  return [at(0), at(1), at(2)];
}

function times(matrix: Matrix, [x, y, z]: Triple): Triple {
  return triple((row) => matrix[row][0] * x + matrix[row][1] * y + matrix[row][2] * z);
}

/** Solves the equations by Cramer's rule. */
function solve(matrix: Matrix, right: Triple): Triple {
  const divisor = determinant(matrix);
  const replaced = (column: Axis) =>
    triple((row) => triple((at) => (at === column ? right[row] : matrix[row][at])));
  return triple((column) => determinant(replaced(column)) / divisor);
}

function determinant([[a, b, c], [d, e, f], [g, h, i]]: Matrix): number {
  return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g);
}

function typed(type: string, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${type}\0\0\0\0`, 'latin1'), body]);
}

function textTag(text: string): Buffer {
  return typed('text', Buffer.from(`${text}\0`, 'latin1'));
}

/** A description with the plain text only, without its Unicode and script forms. */
function descriptionTag(text: string): Buffer {
  const body = Buffer.alloc(4 + text.length + 1 + 8 + 3 + 67);
  body.writeUInt32BE(text.length + 1);
  body.write(text, 4, 'latin1');
  return typed('desc', body);
}

function xyzTag(values: Triple): Buffer {
  const body = Buffer.alloc(12);
  for (const [index, value] of values.entries()) body.writeInt32BE(Math.round(value * 65536), index * 4);
  return typed('XYZ ', body);
}

function curveTag(curve: (value: number) => number): Buffer {
  const body = Buffer.alloc(4 + CURVE_POINTS * 2);
  body.writeUInt32BE(CURVE_POINTS);
  for (let point = 0; point < CURVE_POINTS; point++) {
    const light = Math.min(1, Math.max(0, curve(point / (CURVE_POINTS - 1))));
    body.writeUInt16BE(Math.round(light * 65535), 4 + point * 2);
  }
  return typed('curv', body);
}

const HEADER_BYTES = 128;

/** The profile: header, tag table and tags. Tags with the same bytes share them. */
function assembled(tags: [string, Buffer][]): Buffer {
  const table = Buffer.alloc(4 + tags.length * 12);
  table.writeUInt32BE(tags.length);
  const bodies: Buffer[] = [];
  const offsets = new Map<Buffer, number>();
  let free = HEADER_BYTES + table.length;
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
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32BE(free, 0);
  header.writeUInt32BE(0x02400000, 8);
  header.write('mntrRGB XYZ ', 12, 'latin1');
  header.writeUInt16BE(2024, 24);
  header.writeUInt16BE(1, 26);
  header.writeUInt16BE(1, 28);
  header.write('acsp', 36, 'latin1');
  for (const [index, value] of D50.entries()) header.writeInt32BE(Math.round(value * 65536), 68 + index * 4);
  return Buffer.concat([header, table, ...bodies]);
}
