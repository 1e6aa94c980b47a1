import { requestLineCorrections, siblingPath } from '../../platform/http/errors/corrections.ts';
import type { SentField } from '../../platform/http/errors/errors.ts';
import type { MeantCall } from '../../platform/http/errors/unknown-routes.ts';
import {
  NO_SUGGESTION,
  type SuggestedWord,
  suggestWord,
  unknownWordError,
} from '../../platform/http/errors/violations.ts';
import { hintFirst, likelyNames } from '../../platform/ids/nearest.ts';
import { findOp, OP_NAMES, OPS } from './index.ts';
import { endpointOf, type Op, TRANSFORM_ENDPOINT } from './op.ts';
import { OUTPUT_FORMATS } from './parameters.ts';

/**
 * Words that other services use for an op, the ops of this service that do it, and a sentence on how to do the same
 * here.
 */
const HINTS: readonly (readonly [words: readonly string[], ops: readonly string[], sentence: string])[] = [
  [
    ['ocr', 'text recognition', 'extract text', 'detect text'],
    ['read_text'],
    'read_text reads text: POST /api/v1/images/read-text, or a job.',
  ],
  [
    ['qr', 'qr code', 'barcode', 'barcodes', 'codes', 'scan', 'data matrix', 'read barcode', 'decode qr'],
    ['read_codes'],
    'read_codes reads bar and QR codes: POST /api/v1/images/read-codes, or a job.',
  ],
  [
    ['blurhash', 'thumbhash', 'lqip'],
    ['placeholder', 'read_metadata'],
    'placeholder sends both hashes as headers, and POST /api/v1/images/metadata has them in image.',
  ],
  [
    ['collage', 'montage', 'contact sheet', 'mosaic', 'grid'],
    ['render_template'],
    'A template draws several pictures as one: POST /api/v1/images/render with templateId contact-sheet.',
  ],
  [
    ['watermark', 'logo', 'stamp'],
    ['overlay', 'text'],
    'overlay lays a picture over another, and text writes on it with opacity and position.',
  ],
  [
    ['face', 'faces', 'face detection', 'smart crop'],
    ['thumbnail', 'crop', 'resize'],
    'Faces are not looked for, and gravity=attention keeps contrast and colour: where faces matter, give crop or resize focalX and focalY.',
  ],
  [
    ['avatar', 'circle', 'round', 'corner', 'corners'],
    ['resize', 'thumbnail', 'round_corners'],
    'resize with fit=cover makes a square, with focalX and focalY where the face is, and round_corners with radius=50% a circle: send both as steps.',
  ],
  [
    ['vflip', 'flip vertical', 'flip v', 'flipv', 'vertical flip', 'mirror vertical'],
    ['flip'],
    'flip does it with axis=vertical.',
  ],
  [['cover', 'contain', 'fit', 'fill', 'inside'], ['resize'], 'resize does it, by its parameter fit.'],
  [['thumb', 'thumbs'], ['thumbnail', 'resize'], 'thumbnail makes a small square, resize keeps the shape.'],
  [
    ['scale', 'resample', 'downscale', 'downsample'],
    ['resize', 'upscale'],
    'resize does it; upscale enlarges by a model.',
  ],
  [
    ['colours', 'colors', 'colour', 'color', 'palette', 'dominant color'],
    ['read_metadata', 'convert'],
    'POST /api/v1/images/metadata has the colours of a picture; convert with colors reduces their number.',
  ],
];

const HINTS_BY_NAME = new Map(
  HINTS.flatMap(([words, ops, sentence]) => words.map((word) => [word, { ops, sentence }])),
);

/** The names that other services use for this op. */
export function otherNamesOfOp(op: string): string[] {
  return HINTS.flatMap(([words, ops]) => (ops.includes(op) ? words : []));
}

/**
 * The suggestion for an op that does not exist.
 * @param path the path of the field that contained the op.
 * @returns the text to append to the message, which says how to do it here or names the likely ops; the likely ops; and
 * the change that makes the call valid, if it is certain.
 */
export function suggestOp(name: string, path: string, known: readonly string[] = OP_NAMES): SuggestedWord {
  // Some services name an op by a path, such as `/image/resize`.
  const word = name.slice(name.lastIndexOf('/') + 1);
  const way = findHint(word);
  const [, format] = /^(?:to[-_ ]?)?(\w+)$/i.exec(word) ?? [];
  const [meant] = likelyNames(format ?? '', OUTPUT_FORMATS, Number.POSITIVE_INFINITY);
  if (meant !== undefined) {
    const corrections = [
      { param: path, replace: 'convert' },
      { param: siblingPath(path, 'format'), add: meant },
    ];
    return { hint: ` convert does it, with format=${meant}.`, corrections };
  }
  if (way === undefined) return suggestWord(word, known, path);
  return { hint: ` ${way.sentence}`, corrections: [], suggest: [...way.ops] };
}

/** The hint for a name that other services use, in any spelling. */
function findHint(name: string) {
  const words = name
    .toLowerCase()
    .replaceAll(/[-_ ]+/g, ' ')
    .trim();
  return HINTS_BY_NAME.get(words);
}

/** The sentence about faces, if a value contains that word, such as `gravity=face`; otherwise undefined. */
export function faceSentence(value: string): string | undefined {
  return /face/i.test(value) ? HINTS_BY_NAME.get('face')?.sentence : undefined;
}

/** The calls of the ops that a word names, such as `resize` at the end of a path. Misspelt words name none. */
export function findOpCalls(word: string): MeantCall[] {
  const hinted = findHint(word)?.ops ?? [];
  const exact = hinted.length === 1 ? hinted : likelyNames(word, OP_NAMES, Number.POSITIVE_INFINITY);
  const names = exact.length === 1 ? exact : hinted;
  return names.flatMap((name) => {
    const op = findOp(name);
    return op === undefined ? [] : [callOf(op)];
  });
}

function callOf(op: Op): MeantCall {
  const endpoint = endpointOf(op);
  const path = `/api/v1${endpoint ?? '/jobs'}`;
  const query = endpoint === TRANSFORM_ENDPOINT ? `?op=${op.op}` : '';
  const line = requestLineCorrections({ method: 'POST', path });
  if (endpoint !== undefined && query === '') return { call: `POST ${path}`, corrections: line };
  const place = endpoint === undefined ? 'body' : 'query';
  return { call: `POST ${path}${query}`, corrections: [...line, { param: 'op', add: op.op, in: place }] };
}

/**
 * The op with this name, if a field accepts it.
 * @param sentenceOf makes the error message. `found` is an op of this name that the field does not accept;
 * `allowed` are the names that it accepts.
 * @throws ApiError invalid_param on the field.
 */
export function requireOp<T extends Op>(
  name: string,
  field: SentField,
  isTaken: (op: Op) => op is T,
  sentenceOf: (found: Exclude<Op, T> | undefined, allowed: string) => string,
): T {
  const op = findOp(name);
  if (op !== undefined && isTaken(op)) return op;
  const allowed = Object.values<Op>(OPS)
    .filter(isTaken)
    .map((taken) => taken.op);
  const message = sentenceOf(op as Exclude<Op, T> | undefined, allowed.join(', '));
  const likely = op === undefined ? suggestOp(name, field.path, allowed) : endpointSuggestionOf(op);
  throw unknownWordError(field, name, allowed, (hint) => hintFirst(hint, message), likely);
}

/** The suggestion for an op that has its own endpoint: the call of that endpoint. */
function endpointSuggestionOf(op: Op): SuggestedWord {
  return 'endpoint' in op ? { ...NO_SUGGESTION, suggest: [`POST /api/v1${op.endpoint}`] } : NO_SUGGESTION;
}
