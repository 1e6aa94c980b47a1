import type { Static, TInteger, TNumber, TSchema } from '@sinclair/typebox';
import { losslessImpossibleReason } from '../../../workers/image/encode/encoder.ts';
import { OPERATIONS } from '../../../workers/image/operations/index.ts';
import * as parameter from '../../../workers/image/operations/parameter.ts';
import type { DecodeOptions, EncodeOptions, OutputFormat } from '../../../workers/protocol.ts';
import { encodeOptionsPerFormat } from '../../imaging/images/formats.ts';
import { withoutAbsentFields } from '../../platform/values/present.ts';
import type { GivenParameters, ParameterViolation } from './op.ts';

const { quality, lossless, effort, background } = OPERATIONS.webp.declared;
const { frame, frames, everyNth, maxFps, maxFrames, density } = OPERATIONS.decode.declared;

export const OUTPUT_FORMATS = ['jpeg', 'png', 'webp', 'avif', 'gif', 'tiff'] as const;

/** The parameters of every op that writes an image: how the input is read and how the result is written. */
export const PASS_PARAMETERS = {
  format: parameter.optional(
    parameter.choice(
      OUTPUT_FORMATS,
      "Format of the result; the input's own when left out and it can be written, else png. 16-bit png and tiff keep their bits through resize, crop, flip and turns by right angles; X-Service-Bit-Depth says what came out.",
    ),
  ),
  quality,
  lossless,
  effort,
  metadata: parameter.optional(
    parameter.choice(
      ['strip', 'keep', 'copyright'],
      'What stays of EXIF, XMP, IPTC and the ICC profile: strip (the default) nothing, keep everything but previews, copyright the rights fields. IPTC stays in jpeg and tiff only; gif carries XMP alone.',
    ),
  ),
  frame,
  frames,
  everyNth,
  maxFps,
  maxFrames,
  density,
  background,
};

/** A format, or several formats: the result is then the smallest file among them. */
export type FormatOrFormats = OutputFormat | readonly OutputFormat[];

export type PassParameters = {
  [Name in keyof typeof PASS_PARAMETERS]?: Static<(typeof PASS_PARAMETERS)[Name]>;
};
type SentPassParameters = Omit<PassParameters, 'format'> & { format?: FormatOrFormats };

/** The parts of a pass that the shared parameters determine. */
export function decodeAndEncodeOptionsOf(params: SentPassParameters): {
  decode: DecodeOptions;
  encode: EncodeOptions;
} {
  const shared = Object.entries(params).filter(([name]) => name in PASS_PARAMETERS);
  const { frame, frames, everyNth, maxFps, maxFrames, density, format, ...encode } =
    withoutAbsentFields<SentPassParameters>(Object.fromEntries(shared));
  return {
    decode: withoutAbsentFields({ frame, frames, everyNth, maxFps, maxFrames, density }),
    encode: { ...encode, ...formatOptionsOf(format) },
  };
}

function formatOptionsOf(format: FormatOrFormats | undefined): Pick<EncodeOptions, 'format' | 'formats'> {
  const formats = [format ?? []].flat();
  return formats.length > 1 ? { formats } : withoutAbsentFields({ format: formats[0] });
}

/** The formats that can store every pixel exactly. */
const LOSSLESS_FORMATS: readonly OutputFormat[] = ['webp', 'avif', 'png'];

/**
 * Refuses combinations that no encoder supports. Combinations that depend on other steps of the pass are checked when
 * the steps are merged.
 */
export function checkPassParameters(given: GivenParameters): ParameterViolation | undefined {
  const { format, ...settings } = given as Omit<EncodeOptions, 'format'> & { format?: FormatOrFormats };
  const encodes = encodeOptionsPerFormat({ ...settings, ...formatOptionsOf(format) });
  const [lossy] = encodes.flatMap((encode) => losslessImpossibleReason(encode) ?? []);
  if (lossy === undefined) return undefined;
  const instead = LOSSLESS_FORMATS.map((kept) => ({ parameters: { format: kept } }));
  const message = `lossless is true, but ${lossy}: ask for webp, avif or png.`;
  return { key: 'lossless', message, details: { instead } };
}

interface ParameterWording {
  description?: string;
  examples?: readonly unknown[];
}

/**
 * Adapts an operation's parameter for one op: its limits or its description. The type and the default stay the same.
 */
export function adaptParameter<S extends TSchema>(
  schema: S,
  changes: S extends TInteger | TNumber
    ? ParameterWording & { minimum?: number; maximum?: number }
    : ParameterWording,
): S {
  return { ...schema, ...changes };
}

/** The maximum length of a prompt, after descriptors have replaced the mentions of subjects. */
export const MAX_PROMPT_CHARACTERS = 32_000;

/** The prompt that an AI op takes in addition to its parameters. */
export function promptField(description: string, options?: { default: string }) {
  return parameter.text(1, MAX_PROMPT_CHARACTERS, description, options);
}
