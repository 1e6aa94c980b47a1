import type { OutputFormat, PassWarning, TargetSearchResult } from '../protocol.ts';
import { encodeOutput } from '../transport/output.ts';
import { isGreyColour } from './colour/colour.ts';
import { hasHardColourEdges } from './colour/colour-edges.ts';
import { isBareFile } from './encode/bare-file.ts';
import { isCameraOriginal } from './encode/camera-file.ts';
import { MAX_SHARP_DELAY_MS, restoreDelays } from './encode/delays.ts';
import { AVIF_DRAWING_EFFORT } from './encode/effort.ts';
import {
  type AnimationPlayback,
  assertEncodable,
  type EncodeSettings,
  encodeWith,
} from './encode/encoder.ts';
import {
  choosePngRowFilter,
  decodesToSamePixels,
  exactPaletteOf,
  PNG_ROW_FILTER_ON,
  type PngRowFilter,
  withSmallerPngPixels,
} from './encode/png.ts';
import { declareWebpAlpha } from './encode/webp-alpha.ts';
import { openPixelPipeline } from './input.ts';
import { addMetadataTags, pipelineWithMetadata, pixelsWithMetadata } from './metadata/carried-metadata.ts';
import type { Pixels } from './pixels/pixels.ts';
import { secondsLeft } from './refusal.ts';
import type { WrittenFile } from './search/encodings.ts';
import { type OriginalFile, searchTarget } from './search/target.ts';
import { WorkClock } from './search/time.ts';
import { onlyMovesOrAveragesPixels, type PassWork, writableFormatFor } from './work.ts';

/** The settings that do not change the encoding. A pass with no other setting may return the original file. */
const NEUTRAL_SETTINGS = ['format', 'metadata', 'background', 'keepsAlpha', 'target'];

/**
 * Writes the result of a pass after all its steps. It keeps the metadata that the policy keeps, and has the channels,
 * bits and colours that the format needs. If the pass has a target, the file is found by a search.
 */
export async function writePassResult(work: PassWork): Promise<{
  written: WrittenFile;
  achieved?: TargetSearchResult;
  warnings?: PassWarning[];
  processedMs: number;
}> {
  const { task, encode, source, carried, picture } = work;
  assertEncodable(encode, picture);
  const finish = async ({ data, info }: WrittenFile): Promise<WrittenFile> => {
    if (picture.frames > 1) restoreDelays(data, encode.format, source.delays ?? [], !hasFilePlayback(work));
    if (picture.frames > 1 && picture.hasAlpha && encode.format === 'webp') declareWebpAlpha(data);
    const tagged = addMetadataTags(data, encode.format, carried);
    return { data: tagged, info: { ...info, size: tagged.byteLength } };
  };
  const untouched = await untouchedInput(work);
  if (untouched !== undefined) return { written: untouched, processedMs: performance.now() };
  const { target } = encode;
  const isOriginal = encode.format === 'png' && picture.isUntouched && originalFileOf(work) !== undefined;
  // Kept metadata of the file is valid for a grey result only if the input was grey too.
  const mayBeGrey = encode.metadata !== 'keep' || (source.isGrey && work.profile === 'own');
  if (mayBeGrey && isResultGrey(work)) await picture.writeAsGrey();
  if (writes16Bits(work)) picture.writeAs16Bits();
  const write = async (settings: EncodeSettings & { format: OutputFormat }) =>
    encodeOutput(encodeWith(await pipelineWithMetadata(work), settings, playbackOf(work), picture));
  if (target === undefined) {
    const written =
      (await writeIndexedAgain(work, write)) ??
      (await write({
        ...(await pngRowFilterFor(work)),
        ...(await drawingEffortFor(work)),
        ...encode,
        ...(await colourDetailFor(work)),
      }));
    const finished = await finish(written);
    return {
      written: isOriginal ? withSmallerInputPixels(work, finished) : finished,
      processedMs: performance.now(),
    };
  }
  const pixels = await picture.pixels();
  const processedMs = performance.now();
  const { writtenIn } = picture;
  const prepare = async (searched: Pixels, timeoutMs: number) =>
    pixelsWithMetadata(searched, work, writtenIn).timeout({
      seconds: Math.max(1, Math.floor(timeoutMs / 1000)),
    });
  const prepareSample = (sample: Pixels) => {
    const opened = openPixelPipeline(sample).timeout({ seconds: secondsLeft(task.deadlineMs) });
    return writtenIn === undefined ? opened : opened.toColourspace(writtenIn);
  };
  // The search encodes raw pixels, so the delays and the loop count of the file must be set.
  const motion = playbackOf(work);
  const reached = await searchTarget({
    pixels,
    encode: {
      ...encode,
      target,
      ...(encode.format === 'png' && { filtered: choosePngRowFilter(pixels).filtered }),
      ...(encode.format === 'webp' && colourDetailSettings('webp', pixels)),
    },
    motion,
    original: originalFileOf(work),
    deadlineMs: task.deadlineMs,
    improvesUntilMs: work.improvesUntilMs,
    takeTurn: work.takeTurn,
    ...(work.canBeKilled && {
      leaveTrial: () => {
        work.leavesWork = true;
      },
    }),
    clock: work.clock ?? new WorkClock(),
    prepare,
    prepareSample,
    finish,
  });
  return { ...reached, processedMs };
}

/** The formats that can store a single channel. */
const GREY_FORMATS: readonly OutputFormat[] = ['jpeg', 'png', 'tiff'];

/** Whether the result is grey and its format can store a single channel. */
export function isResultGrey(work: Pick<PassWork, 'encode' | 'source' | 'steps'>): boolean {
  const { encode, source, steps } = work;
  if (!GREY_FORMATS.includes(encode.format)) return false;
  if (!isGreyColour(encode.background)) return false;
  return steps.reduce(
    (wasGrey, { operation, params }) => operation.greyAfter(wasGrey, params),
    source.isGrey,
  );
}

/** Whether the result is written with 16 bits per channel. */
function writes16Bits({ encode, source }: PassWork): boolean {
  const { format, quality, palette, colors, target } = encode;
  if (!source.is16Bit || target !== undefined) return false;
  if (format === 'png') return palette === undefined && colors === undefined;
  return format === 'tiff' && quality === undefined;
}

/**
 * The input formats that hold drawings and screenshots besides photographs. Pictures in other formats have lost their
 * hard edges by compression.
 */
const LOSSLESS_INPUT_FORMATS: readonly string[] = ['png', 'gif', 'raw'];

/**
 * The largest photographic result, in pixels, that is searched for hard edges too. Its source may have had hard edges
 * before it was scaled down.
 */
const MAX_EDGE_SEARCH_PX = 4_000_000;

/**
 * The settings that a lossy file needs for hard edges between colours, unless the caller chose them. The search for
 * hard edges needs its own pipeline: it takes 2 of the 33 ms in which a JPEG of 12 megapixels is scaled to 512 pixels.
 * A camera's original photograph is not searched, because it has no such edges.
 */
async function colourDetailFor(work: PassWork): Promise<Partial<EncodeSettings>> {
  const { task, encode, source, picture, steps } = work;
  const { format, chroma, lossless } = encode;
  const isCoarse = format === 'webp' || ((format === 'jpeg' || format === 'avif') && chroma === undefined);
  if (!isCoarse || lossless === true || picture.writtenIn !== undefined || picture.frames > 1) return {};
  const isDrawn = LOSSLESS_INPUT_FORMATS.includes(source.format);
  if (!isDrawn && (format !== 'webp' || picture.width * picture.height > MAX_EDGE_SEARCH_PX)) return {};
  if (!isDrawn && steps.every(onlyMovesOrAveragesPixels) && isCameraOriginal(task.input)) return {};
  return colourDetailSettings(format, await picture.pixels());
}

function colourDetailSettings(format: OutputFormat, pixels: Pixels): Partial<EncodeSettings> {
  if (!hasHardColourEdges(pixels)) return {};
  return format === 'webp' ? { sharpColours: true } : { chroma: '4:4:4' };
}

/** Chooses the row filter of a PNG. The pixels of a photograph that was only moved or scaled are not examined. */
async function pngRowFilterFor({ encode, source, picture, steps }: PassWork): Promise<Partial<PngRowFilter>> {
  const { format, palette, colors } = encode;
  if (format !== 'png' || palette === true || colors !== undefined) return {};
  const isPhoto = source.format === 'jpeg' && steps.every(onlyMovesOrAveragesPixels);
  return isPhoto || picture.isDeep ? PNG_ROW_FILTER_ON : choosePngRowFilter(await picture.pixels());
}

/**
 * The encoder effort for the AVIF of a drawing, which needs more effort than a photograph. Empty for any other picture.
 */
async function drawingEffortFor({ encode, source, picture }: PassWork): Promise<Partial<EncodeSettings>> {
  const { format, effort, lossless } = encode;
  if (format !== 'avif' || effort !== undefined || lossless === true || picture.frames > 1) return {};
  if (
    !LOSSLESS_INPUT_FORMATS.includes(source.format) ||
    picture.width * picture.height > AVIF_DRAWING_EFFORT.maxPx
  )
    return {};
  return choosePngRowFilter(await picture.pixels()).filtered ? {} : { effort: AVIF_DRAWING_EFFORT.effort };
}

/** Writes an indexed PNG as an indexed PNG again if the steps added no colours; undefined otherwise. */
async function writeIndexedAgain(
  { source, encode, picture }: PassWork,
  write: (settings: EncodeSettings & { format: 'png' }) => Promise<WrittenFile>,
): Promise<WrittenFile | undefined> {
  const { format, palette, colors } = encode;
  if (!source.isIndexed || format !== 'png' || palette !== undefined || colors !== undefined)
    return undefined;
  const pixels = await picture.pixels();
  const exact = exactPaletteOf(pixels);
  const written = exact && (await write({ ...encode, format, ...exact }));
  return written !== undefined && (await decodesToSamePixels(written.data, pixels)) ? written : undefined;
}

/**
 * The input itself, if the picture is unchanged and the pass requests no other encoding. The pixels are still decoded,
 * which proves that the input can be read.
 */
async function untouchedInput(work: PassWork): Promise<WrittenFile | undefined> {
  const { encode, source, picture } = work;
  const isKept = encode.target === undefined && !source.isDeep && picture.isUntouched;
  const file = isKept ? originalFileOf(work)?.file : undefined;
  if (file !== undefined) await picture.pixels();
  return file;
}

/** The input, if the pass requests only a smaller file of the same format; undefined for any other pass. */
function originalFileOf(work: PassWork): OriginalFile | undefined {
  const { task, steps, encode, source, isConverted, chosen, picture } = work;
  const { input } = task;
  const isSame = writableFormatFor(source.format) === encode.format && chosen.count === source.frames;
  const asksMore = Object.keys(encode).some((key) => !NEUTRAL_SETTINGS.includes(key));
  const isChanged = steps.length > 0 && !picture.isUntouched;
  if (task.raw !== undefined || isConverted || isChanged || !isSame || asksMore) return undefined;
  const bytes = input.byteLength;
  // A file with an orientation or with metadata is never returned as it is, because its embedded previews must be
  // removed. Only its size is used, for comparison.
  if (source.orientation > 1 || !isBareFile(input, encode.format)) return { bytes };
  const info = { width: source.width, height: source.height * source.frames, size: bytes };
  // The file is a copy that owns its memory: the thread frees the input after the pass, and slice() of a Buffer copies
  // nothing.
  return { bytes, file: { data: new Uint8Array(input), info } };
}

/**
 * Replaces the compressed pixels of the result by those of the input if they are smaller. Both files show the same
 * picture.
 */
function withSmallerInputPixels(
  { task, source, profile }: PassWork,
  { data, info }: WrittenFile,
): WrittenFile {
  if (source.orientation > 1) return { data, info };
  const smaller = withSmallerPngPixels(data, task.input, profile === 'own');
  return { data: smaller, info: { ...info, size: smaller.byteLength } };
}

/**
 * Whether the encoder takes the delays and the loop count from the file. Raw pixels carry neither, and a part of an
 * animation would get the delays of its first frames.
 */
function hasFilePlayback({ picture, chosen, source }: PassWork): boolean {
  return picture.fromFile && chosen.count === source.frames;
}

/** The delays and the loop count of an animation, unless the encoder takes them from the file. */
function playbackOf(work: PassWork): AnimationPlayback {
  const { picture, source } = work;
  if (picture.frames === 1 || hasFilePlayback(work)) return {};
  const { delays, loop } = source;
  const delay = delays?.map((delayMs) => Math.min(delayMs, MAX_SHARP_DELAY_MS));
  return { ...(delay !== undefined && { delay }), ...(loop !== undefined && { loop }) };
}
