import type {
  EncodeOptions,
  OutputFormat,
  PassWarning,
  SearchDetails,
  TargetSearchResult,
} from '../../protocol.ts';
import { type LikenessTarget, likenessMetricFor, measuredLikenessOf } from '../likeness/likeness.ts';
import { DeadlineError, invalidParamRefusal, PassRefusal } from '../refusal.ts';
import { type SearchAttempts, type SettingLadder, type TriedFile, trySettings } from './attempts.ts';
import type { SearchedPicture, WrittenFile } from './encodings.ts';
import { fittingShareOfFrames, SAFE_SIZE_SHARE } from './fewer-frames.ts';
import {
  COARSEST_DRAWING_SETTING,
  type CommonEncoderSettings,
  type EncoderSetting,
  encoderSettingsFor,
  type FormatWithCurves,
  isPoorSetting,
  type SearchedQuantity,
  typicalQuantityAt,
} from './settings.ts';
import { assertByteLimitReachable } from './smallest-file.ts';
import type { EncodingTrial } from './trials.ts';

/** The file that a search has found, and the values that it reaches. */
interface SearchResult {
  written: WrittenFile;
  achieved: TargetSearchResult;
  /**
   * Warnings of the search, such as that the time did not allow every trial: the same call may reach a better file with
   * more time.
   */
  warnings: PassWarning[];
}

/** The input file, if the pass writes the same picture in the same format. */
export interface OriginalFile {
  bytes: number;
  /** The input file, if the search may return it unchanged. */
  file?: WrittenFile;
}

/** The input of a search: the picture, the target, and the original file, if it may be returned. */
export interface TargetSearch extends SearchedPicture {
  encode: CommonEncoderSettings & { target: NonNullable<EncodeOptions['target']> };
  original: OriginalFile | undefined;
}

/** The search ends with a file that is below the limit by at most this difference of natural logarithms (3 %). */
const SIZE_TOLERANCE = 0.03;
/**
 * The most bytes per pixel that a palette of two colours takes: one bit. If the target allows fewer bytes, even the
 * smallest setting may be too large.
 */
const MAX_TWO_COLOUR_BYTES_PER_PX = 1 / 8;
/**
 * After a search that found a file but missed its target, a picture with this share of the pixels can certainly be
 * tried in time.
 */
const RELIABLE_TIME_SHARE = 0.5;

/**
 * Searches the settings of an encoder, from the smallest file to the largest, for the one that reaches a target: the
 * best picture of at most `maxBytes`, or the smallest file of at least `minSsim` or `ssimulacra2`. Each trial encodes
 * the same pixels. If possible, no file becomes larger than the input, which may itself be the best result.
 * @throws PassRefusal invalid_param on `maxBytes`, `minSsim` or `ssimulacra2` when no setting reaches the target;
 *   DeadlineError when the time was over before such a setting was found, or before it was certain that there is none.
 *   Both errors describe the nearest file.
 */
export async function searchTarget(search: TargetSearch): Promise<SearchResult> {
  const { target } = search.encode;
  return 'maxBytes' in target ? searchWithinBytes(target.maxBytes, search) : searchByLikeness(target, search);
}

/** Finds the best picture: the largest file that is small enough, and no larger than the original. */
async function searchWithinBytes(maxBytes: number, search: TargetSearch): Promise<SearchResult> {
  const { encode, original, pixels } = search;
  const { width, height, frames } = pixels;
  if (original?.file !== undefined && original.bytes <= maxBytes) return originalResult(original.file, 0);
  assertByteLimitReachable(maxBytes, encode, pixels);
  const limitBytes = Math.min(maxBytes, original?.bytes ?? maxBytes);
  const settings = encoderSettingsFor(encode, 'size', frames);
  const ladder = { settings, ...expectedValuesOf('size', search, settings) };
  const { best, nearest, ...tried } = await trySettings(search, {
    quantity: 'size',
    ladder,
    keepsDrawings: canBeDrawing(encode, frames),
    criteria: {
      ...{ pick: 'last', target: Math.log(limitBytes), tolerance: SIZE_TOLERANCE },
      firstMayFail: limitBytes < MAX_TWO_COLOUR_BYTES_PER_PX * width * height * frames,
    },
    async judge({ info }, sample) {
      const bytes = sample?.bytes ?? info.size;
      return { value: Math.log(bytes), reaches: bytes <= limitBytes };
    },
  });
  const reached = best ?? nearest;
  if (reached !== undefined && reached.written.info.size <= maxBytes) {
    const { written, achieved, warnings } = resultOf(reached, encode, tried);
    const better = frames > 1 ? 'fewer_frames' : 'smaller_picture';
    return {
      ...{ written, achieved },
      warnings: isPoorSetting(reached.setting)
        ? [...warnings, { code: 'low_quality', name: better }]
        : warnings,
    };
  }
  throw await byteLimitError(maxBytes, limitBytes, search, {
    ...{ reached, ...tried },
    acceptable: [
      settings.find((one) => !isPoorSetting(one)) ?? {},
      ...(tried.isDrawing ? [COARSEST_DRAWING_SETTING] : []),
    ],
  });
}

/** The error of a search that found no file that is small enough. */
async function byteLimitError(
  maxBytes: number,
  limitBytes: number,
  search: TargetSearch,
  tried: Omit<SearchAttempts<EncodingTrial>, 'best' | 'nearest'> & {
    reached: TriedFile | undefined;
    acceptable: readonly EncoderSetting[];
  },
): Promise<DeadlineError | PassRefusal> {
  const { encode, pixels } = search;
  const { reached, trials, isThorough, timeShare = RELIABLE_TIME_SHARE, leastExpected, acceptable } = tried;
  const moves = pixels.frames > 1;
  const size = reached?.written.info.size ?? (leastExpected && Math.round(Math.exp(leastExpected)));
  const measured = moves ? await fittingShareOfFrames(search, acceptable, limitBytes, isThorough) : undefined;
  const sizeShare = measured ?? (size === undefined ? 1 : (SAFE_SIZE_SHARE * limitBytes) / size);
  const details =
    reached && nearestFileDetails(size as number, reached, encode, achievedValuesOf(reached, encode, trials));
  if (!isThorough) return new DeadlineError(details, Math.min(timeShare, sizeShare));
  const smallest = reached
    ? `the smallest file that was reached has ${size} bytes`
    : `the smallest file would have about ${size} bytes, judged by some of the frames`;
  return new PassRefusal({
    code: 'invalid_param',
    param: 'maxBytes',
    message: `maxBytes is ${maxBytes}, but ${smallest}: allow more, or make the picture smaller${moves ? ' or its frames fewer' : ''}.`,
    details: { ...(details ?? { expected: size }) },
    doableShare: sizeShare,
  });
}

/**
 * Whether the picture may be encoded losslessly as a drawing, with fewer colours if necessary. If the caller requests a
 * quality, it is not.
 */
function canBeDrawing({ format, quality, lossless }: CommonEncoderSettings, frames: number): boolean {
  return format === 'webp' && frames > 1 && quality === undefined && lossless !== true;
}

/** Finds the smallest file that reaches the likeness. */
async function searchByLikeness(target: LikenessTarget, search: TargetSearch): Promise<SearchResult> {
  const { pixels, original } = search;
  const metric = likenessMetricFor(pixels, target);
  const { param, minValue, quantity, tolerance, toEvenScale, roundDown } = metric;
  const encode: TargetSearch['encode'] = { ...metric.settings, ...search.encode };
  const settings = encoderSettingsFor(encode, quantity, pixels.frames);
  let ofSample: ReturnType<typeof likenessMetricFor> | undefined;
  const attempts = await trySettings(
    { ...search, encode },
    {
      quantity,
      ladder: {
        settings,
        ...expectedValuesOf(quantity, search, settings, toEvenScale(metric.valueOfIdentical)),
      },
      criteria: { pick: 'first', target: toEvenScale(minValue), tolerance },
      async judge({ data }, sample) {
        if (sample !== undefined) ofSample ??= likenessMetricFor(sample.pixels, target);
        const { measure } = sample === undefined ? metric : (ofSample ?? metric);
        const likeness = await measure(data);
        return { value: toEvenScale(likeness), reaches: likeness >= minValue, likeness };
      },
    },
  );
  const { best, nearest, trials, isThorough, timeShare } = attempts;
  const { file } = original ?? {};
  if (file !== undefined && (best === undefined || file.info.size < best.written.info.size)) {
    return originalResult(file, trials, measuredLikenessOf(metric, metric.valueOfIdentical));
  }
  if (best !== undefined)
    return resultOf(best, encode, { trials, isThorough }, measuredLikenessOf(metric, best.likeness));
  if (nearest === undefined) throw new DeadlineError(undefined, timeShare);
  const closest = roundDown(nearest.likeness);
  const achieved = achievedValuesOf(nearest, encode, trials, measuredLikenessOf(metric, nearest.likeness));
  const details = nearestFileDetails(closest, nearest, encode, achieved);
  if (!isThorough) throw new DeadlineError(details, RELIABLE_TIME_SHARE);
  const message = `${param} is ${minValue}, but the closest that was reached is ${closest}: allow less, or ask for a lossless format.`;
  throw invalidParamRefusal(param, message, { ...details });
}

function originalResult(
  file: WrittenFile,
  trials: number,
  likeness: Partial<TargetSearchResult> = {},
): SearchResult {
  return { written: file, achieved: { ...likeness, bytes: file.info.size, trials }, warnings: [] };
}

function resultOf(
  tried: TriedFile,
  encode: CommonEncoderSettings,
  { trials, isThorough }: { trials: number; isThorough: boolean },
  likeness?: Partial<TargetSearchResult>,
): SearchResult {
  return {
    written: tried.written,
    achieved: achievedValuesOf(tried, encode, trials, likeness),
    warnings: isThorough ? [] : [{ code: 'search_cut_short' }],
  };
}

function achievedValuesOf(
  { written, setting }: TriedFile,
  { quality, lossless }: CommonEncoderSettings,
  trials: number,
  likeness: Partial<TargetSearchResult> = {},
): TargetSearchResult {
  const isLossless = setting.lossless ?? lossless ?? false;
  const writtenQuality = isLossless ? undefined : (setting.quality ?? quality);
  return {
    ...(writtenQuality !== undefined && { quality: writtenQuality }),
    ...(isLossless && setting.levels === undefined && { lossless: true }),
    ...likeness,
    bytes: written.info.size,
    trials,
  };
}

/**
 * The details of a failed search about its nearest file: the value that it reached, and the settings with which it can
 * be requested.
 */
function nearestFileDetails(
  reached: number,
  { setting, effort = setting.effort }: TriedFile,
  { format }: CommonEncoderSettings,
  achieved: TargetSearchResult,
): SearchDetails {
  const { colors } = setting;
  return {
    reached,
    achieved: {
      format,
      ...(colors !== undefined && { colors }),
      ...(effort !== undefined && { effort }),
      ...achieved,
    },
  };
}

/**
 * The values of the searched quantity that are expected at the settings. Empty if a setting has no quality and is not
 * lossless, or if the format has no quality curves.
 */
function expectedValuesOf(
  quantity: SearchedQuantity,
  { encode: { format }, pixels }: TargetSearch,
  settings: EncoderSetting[],
  ofLossless = Number.POSITIVE_INFINITY,
): Pick<SettingLadder, 'expected' | 'typicalLogBytes'> {
  if (
    !hasQualityCurves(format) ||
    settings.some(({ quality, lossless }) => quality === undefined && !lossless)
  )
    return {};
  const pixelCount = pixels.width * pixels.height * pixels.frames;
  const logPixelCount = quantity === 'size' ? Math.log(pixelCount) : 0;
  return {
    expected(index) {
      const { quality } = settings[index] as EncoderSetting;
      return quality === undefined
        ? ofLossless
        : logPixelCount + typicalQuantityAt(format, quantity, quality);
    },
    typicalLogBytes: (index) => typicalQuantityAt(format, 'size', settings[index]?.quality ?? 100),
  };
}

function hasQualityCurves(format: OutputFormat): format is FormatWithCurves {
  return format === 'jpeg' || format === 'webp' || format === 'avif';
}
