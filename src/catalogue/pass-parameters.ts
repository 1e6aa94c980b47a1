import { type Static, Type } from '@sinclair/typebox';
import { lossyWriter } from '../../workers/image/operations/parameter.ts';
import type { Decode, Encode } from '../../workers/protocol.ts';
import type { Given, Violation } from './op.ts';
import { choice, colour, flag, integer, optional } from './parameter.ts';

export const OUTPUT_FORMATS = ['jpeg', 'png', 'webp', 'avif', 'gif', 'tiff'] as const;

/** What every op that writes an image takes: how the input is read and how the result is written. */
export const PASS_PARAMETERS = {
  format: optional(
    choice(
      OUTPUT_FORMATS,
      "Format of the result; the input's own when left out and it can be written, else png. 16-bit png and tiff keep their bits through resize, crop and flip; other ops work on 8 bits.",
    ),
  ),
  quality: optional(integer(1, 100, 'Quality of a lossy result; the default depends on the format.')),
  lossless: optional(flag('Keep every pixel exactly; for webp and avif.')),
  effort: optional(
    integer(
      0,
      9,
      'How hard the encoder tries to make the file small, 0 fastest, 9 smallest; scaled to the encoder.',
    ),
  ),
  metadata: optional(
    choice(
      ['strip', 'keep', 'copyright'],
      'What stays of EXIF, XMP, IPTC and the ICC profile: strip (the default) nothing, keep everything but previews, copyright the rights fields. IPTC stays in jpeg and tiff only; gif carries nothing.',
    ),
  ),
  frame: optional(
    Type.Union([Type.Literal('first'), Type.Literal('all'), Type.Integer({ minimum: 0 })], {
      description:
        'Which frames are read: first, all, or one by its index from 0; all is the default when input and result can both move.',
    }),
  ),
  density: optional(integer(1, 2400, 'Dots per inch at which vector input is drawn.')),
  background: optional(
    colour('Colour under transparent pixels when the format has none, and of the area that the op adds.'),
  ),
};

/** Passes of these formats can move; frame=all makes no sense in any other. */
const MOVING_FORMATS: readonly string[] = ['gif', 'webp'];

/** Whether `format` holds a single picture. An absent one is not known to. */
export function isStill(format: string | undefined): boolean {
  return format !== undefined && !MOVING_FORMATS.includes(format);
}

export type PassParameters = {
  [Name in keyof typeof PASS_PARAMETERS]?: Static<(typeof PASS_PARAMETERS)[Name]>;
};

/** The part of a pass that the shared parameters stand for. */
export function passPartsOf(params: PassParameters): { decode: Decode; encode: Encode } {
  const { frame, density, ...encode } = pick(params);
  return {
    decode: { ...(frame !== undefined && { frame }), ...(density !== undefined && { density }) },
    encode,
  };
}

/** Refuses what no encoder can do at once; what other steps of the pass have a say in is left to the merge. */
export function passRule(given: Given): Violation | undefined {
  const lossy = lossyWriter(given as Encode);
  if (lossy === undefined) return undefined;
  return { key: 'lossless', message: `lossless is true, but ${lossy}: ask for webp, avif or png.` };
}

function pick(params: PassParameters): PassParameters {
  const entries = Object.entries(params).filter(
    ([name, value]) => name in PASS_PARAMETERS && value !== undefined,
  );
  return Object.fromEntries(entries) as PassParameters;
}
