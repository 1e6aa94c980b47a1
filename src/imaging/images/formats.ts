import { alphaLevelsOfOutput } from '../../../workers/image/encode/encoder.ts';
import type { EncodeOptions, ImagePass, OutputFormat, PassWarning } from '../../../workers/protocol.ts';
import { ApiError } from '../../platform/http/errors/errors.ts';
import { withoutAbsentFields } from '../../platform/values/present.ts';
import { frameCountOf, resolvedEncodeOf } from './estimates/prediction.ts';
import { isLateError } from './failures.ts';
import type { ImageHeader } from './header/facts.ts';
import type { BranchPass, PassOutcome } from './image-call.ts';

/** The encode settings of a result, once for each format that it may have. */
export function encodeOptionsPerFormat({ formats, ...encode }: EncodeOptions): EncodeOptions[] {
  return formats === undefined ? [encode] : formats.map((format) => ({ ...encode, format }));
}

/**
 * A pass, once for each format that its result may have. Formats that would lose frames or metadata are left out,
 * because their smaller files would win. Only the formats that hold the most frames are kept, and among these only the
 * formats that can hold the metadata of the pass. The quickest encoder comes first, so that there is a result early.
 * Only the pixels show whether there is transparency, so a worker refuses a format that cannot keep it.
 * @param header of the file; null if it is not an image.
 */
export function passesPerFormat(pass: ImagePass, header: ImageHeader | null): ImagePass[] {
  const passes = encodeOptionsPerFormat(pass.encode)
    .toSorted((one, other) => encodingTimeRankOf(one) - encodingTimeRankOf(other))
    .map((encode) => ({ ...pass, encode }));
  if (header === null || passes.length === 1) return passes;
  const withMostFrames = passesWithMost(passes, (one) => frameCountOf(header, one));
  const complete = passesWithMost(withMostFrames, (one) =>
    canHoldMetadata(resolvedEncodeOf(header, one)) ? 1 : 0,
  );
  const levels = (one: ImagePass) => alphaLevelsOfOutput(resolvedEncodeOf(header, one));
  const highestLevel = Math.max(...complete.map(levels));
  return complete.map((one) =>
    levels(one) === highestLevel ? one : { ...one, encode: { ...one.encode, keepsAlpha: true } },
  );
}

/** The formats, the quickest encoder first. */
const FORMATS_BY_ENCODING_TIME: readonly (OutputFormat | undefined)[] = [
  'jpeg',
  'tiff',
  'webp',
  'png',
  'gif',
  'avif',
];

function encodingTimeRankOf({ format }: EncodeOptions): number {
  return FORMATS_BY_ENCODING_TIME.indexOf(format);
}

/** The passes for which a measure is largest. */
function passesWithMost(passes: readonly ImagePass[], measure: (pass: ImagePass) => number): ImagePass[] {
  const most = Math.max(...passes.map(measure));
  return passes.filter((one) => measure(one) === most);
}

/** Whether the format can hold the metadata that the pass keeps. GIF cannot contain EXIF, XMP or rights. */
function canHoldMetadata({ metadata = 'strip', format }: EncodeOptions): boolean {
  return metadata === 'strip' || format !== 'gif';
}

/**
 * Whether a pass searches for the smallest file with a given likeness. The sizes of such files differ widely between
 * formats.
 */
function hasQualityTarget({ encode: { target } }: ImagePass): boolean {
  return target !== undefined && !('maxBytes' in target);
}

/** Runs a pass once for each format that its result may have, and picks the smallest file. */
export class FormatRuns {
  readonly #groups: readonly { pass: ImagePass; runs: BranchPass[] }[];

  /** @param header of the file; null if it is not an image. */
  constructor(branches: readonly BranchPass[], header: ImageHeader | null) {
    this.#groups = branches.map((branch, formatGroup) => {
      const passes = passesPerFormat(branch.pass, header);
      const areRivals = passes.length > 1 && hasQualityTarget(branch.pass);
      const runs = passes.map((one) => ({ ...branch, pass: areRivals ? { ...one, formatGroup } : one }));
      return { pass: branch.pass, runs };
    });
  }

  get passRuns(): BranchPass[] {
    return this.#groups.flatMap(({ runs }) => runs);
  }

  /** Returns, for each pass, the smallest file among the formats that it may have, or the error if there is no file. */
  smallestOutputs(outputs: readonly PassOutcome[]): PassOutcome[] {
    let end = 0;
    return this.#groups.map(({ pass, runs }) => {
      const start = end;
      end += runs.length;
      return smallestOutput(pass, runs, outputs.slice(start, end));
    });
  }
}

/**
 * The smallest file, with a warning of each format for which there was no time. A search of any of the formats that was
 * cut short is told too, because with more time its file might be the smallest. If there is no file, the error of the
 * search that came nearest to its target, or any error.
 */
function smallestOutput(
  { encode: { target } }: ImagePass,
  runs: readonly BranchPass[],
  outputs: readonly PassOutcome[],
): PassOutcome {
  const files = outputs.flatMap((output) => (output instanceof ApiError ? [] : [output]));
  const [smallest] = files.toSorted((one, other) => one.data.length - other.data.length);
  if (smallest !== undefined) {
    const late = runs.flatMap(({ pass }, index) => (isLateError(outputs[index]) ? [pass.encode.format] : []));
    const untried = late.map(
      (name): PassWarning => ({ code: 'format_not_tried', ...withoutAbsentFields({ name }) }),
    );
    const { warnings = [] } = smallest;
    const cutShort = files.flatMap((file) => file.warnings ?? []).filter(isCutShort);
    const more = [...(warnings.some(isCutShort) ? [] : cutShort.slice(0, 1)), ...untried];
    return more.length === 0 ? smallest : { ...smallest, warnings: [...warnings, ...more] };
  }
  const refusals = outputs.flatMap((output) => (output instanceof ApiError ? [output] : []));
  const missedTargets = refusals.filter(({ details }) => typeof details?.reached === 'number');
  const sign = target !== undefined && 'maxBytes' in target ? 1 : -1;
  missedTargets.sort((one, other) => sign * (Number(one.details?.reached) - Number(other.details?.reached)));
  const refusal = missedTargets[0] ?? refusals[0];
  if (refusal === undefined) throw new Error('A pass has no result.');
  return refusal;
}

function isCutShort({ code }: PassWarning): boolean {
  return code === 'search_cut_short';
}
