import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeHintsOf } from '../../../../src/imaging/images/header/facts.ts';
import { readImageHeader } from '../../../../src/imaging/images/header/header.ts';
import { checkOpParameters } from '../../../../src/product/catalogue/checks/check.ts';
import { findOp, type OpName } from '../../../../src/product/catalogue/index.ts';
import type { HeaderDecodeHints, TransformTask } from '../../../../workers/protocol.ts';
import { type PictureName, pictureNamed } from './pictures.ts';

/** The expected answer of an op, computed by another implementation (compute.py). */
export interface Fact {
  op: OpName;
  name: string;
  /** The other implementation. */
  by: string;
  /** The input of the op: a generated picture, or a file in base64 that another implementation wrote. */
  picture?: PictureName;
  file?: string;
  /** The second picture of an op that takes two. */
  other?: PictureName;
  parameters: Record<string, unknown>;
  size?: [width: number, height: number];
  /** The greatest difference of a channel that rounding may make. */
  within?: number;
  /** x, y and the channels of a few pixels of the result. */
  pixels?: string;
  ink?: Ink;
  /** How a PNG stores its pixels: colour type and bits of a channel. */
  stored?: [colourType: number, bits: number];
  /** Milliseconds for which each frame is shown. */
  delays?: number[];
  /** Fields of the answer in numbers or words, and how far numbers may lie apart. */
  fields?: Record<string, unknown>;
  apart?: Record<string, number>;
  /** Fields of the answer that may be larger. */
  least?: Record<string, number>;
  /** The fewest and the most bytes of a file. */
  bytes?: [number, number];
}

/** If letters lie on a plain ground of one grey, in white ink. */
export interface Ink {
  ground: number;
  /** Left, top, right and bottom of the ink of each line, its last column and row included. */
  boxes: number[][];
  /** Pixels by which they may lie off. */
  within: [across: number, down: number];
  /** Ink in whole pixels of it, and which share of that may be more or less. */
  amount: number;
  share: number;
}

const OTHER = 'ast_111111111111111111111111';
const FOLDER = join(import.meta.dirname, 'facts');

/** The groups of facts by name. */
export function groups(): Map<string, Fact[]> {
  return new Map(
    readdirSync(FOLDER).map((file) => {
      const { facts } = JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as { facts: Fact[] };
      return [file.replace('.json', ''), facts];
    }),
  );
}

/** The input of the op of a fact. */
export async function inputOf({ picture, file }: Fact): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(
    picture === undefined ? Buffer.from(file ?? '', 'base64') : await pictureNamed(picture),
  );
}

/** The task that a call of the op comes to; the result is a PNG where the fact does not ask for another format. */
export async function taskOf(fact: Fact): Promise<TransformTask> {
  const op = findOp(fact.op);
  if (op?.runs !== 'pass') throw new Error(`${fact.op} is no op on pixels.`);
  const named = fact.other === undefined ? {} : { layerAssetId: OTHER };
  const fragment = op.compile(checkOpParameters(op, { format: 'png', ...fact.parameters, ...named }));
  const input = await inputOf(fact);
  return {
    kind: 'transform',
    input,
    pass: fragment,
    ...readingsIn(input),
    ...(fact.other !== undefined && {
      layers: { [OTHER]: { input: new Uint8Array(await pictureNamed(fact.other)) } },
    }),
    deadlineMs: Date.now() + 60_000,
  };
}

/** The readings of a file that are sent to a thread with it. */
export function readingsIn(input: Uint8Array): HeaderDecodeHints {
  const header = readImageHeader(input);
  return header === null ? {} : decodeHintsOf(header);
}

/** The pixels of a fact. */
export function pixelsOf({ pixels = '' }: Fact): { x: number; y: number; channels: number[] }[] {
  return pixels.split(', ').map((pixel) => {
    const [x = 0, y = 0, ...channels] = pixel.split(' ').map(Number);
    return { x, y, channels };
  });
}
