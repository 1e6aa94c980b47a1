import type { OutputFormat, PassWarning, TargetResult } from '../protocol.ts';
import { encodeOutput } from '../transport/output.ts';
import { isGreyColour } from './colour/colour.ts';
import { hasHardColourEdges } from './colour/colour-edges.ts';
import { isBare } from './encode/bare-file.ts';
import { isFromCamera } from './encode/camera-file.ts';
import { MAX_SENT_MS, restoreDelays } from './encode/delays.ts';
import { DRAWING_AVIF } from './encode/effort.ts';
import { assertEncodable, type EncodeSettings, encodeWith, type Motion } from './encode/encoder.ts';
import { exactPaletteOf, shows } from './encode/exact-palette.ts';
import { ROW_FILTER_ON, type RowFilter, rowFilterFor } from './encode/row-filter.ts';
import { withSmallerPixels } from './encode/smaller-png.ts';
import { openPixels } from './input.ts';
import { type CarriedFile, pixelsWithMetadata, withMetadata, withTags } from './metadata/carried-metadata.ts';
import type { Pixels } from './pixels/pixels.ts';
import { type Original, reachTarget, type Written } from './search/target.ts';
import { isSamePicture, type PassWork, secondsLeft, writableFormat } from './work.ts';

/** Keys that do not change the encoding. A pass with no other key may return the original. */
const NEUTRAL_KEYS = ['format', 'metadata', 'background', 'keepsAlpha', 'target'];

/**
 * Writes the result of a pass, once all steps are done: with the metadata that the policy keeps, in the channels, bits
 * and colours that it needs, and by a search if it has a target.
 */
export async function writeResult(
  work: PassWork,
): Promise<{ written: Written; achieved?: TargetResult; warnings?: PassWarning[]; processedMs: number }> {
  const { task, encode, source, chosen, carried, profile, picture } = work;
  assertEncodable(encode, picture);
  const file: CarriedFile = { input: task.input, source, chosen, policy: encode.metadata, carried, profile };
  const finish = async ({ data, info }: Written): Promise<Written> => {
    if (picture.frames > 1) restoreDelays(data, encode.format, source.delays ?? [], !hasOwnMotion(work));
    const tagged = withTags(data, encode.format, carried);
    return { data: tagged, info: { ...info, size: tagged.byteLength } };
  };
  const untouched = await untouchedInput(work);
  if (untouched !== undefined) return { written: untouched, processedMs: performance.now() };
  const { target } = encode;
  const isOriginal = encode.format === 'png' && picture.isUntouched && originalOf(work) !== undefined;
  if (staysGrey(work) && (encode.metadata !== 'keep' || carriesGrey(work))) await picture.writeGrey();
  if (staysDeep(work)) picture.writeDeep();
  const write = async (settings: EncodeSettings & { format: OutputFormat }) =>
    encodeOutput(encodeWith(await withMetadata(picture, file), settings, motionOf(work), picture));
  if (target === undefined) {
    const written =
      (await writtenIndexed(work, write)) ??
      (await write({
        ...(await filterFor(work)),
        ...(await drawingEffortFor(work)),
        ...encode,
        ...(await colourDetailFor(work)),
      }));
    const finished = await finish(written);
    return { written: isOriginal ? withPixelsOf(work, finished) : finished, processedMs: performance.now() };
  }
  const pixels = await picture.pixels();
  const processedMs = performance.now();
  const { writtenIn } = picture;
  const prepare = async (timeoutMs: number) =>
    pixelsWithMetadata(pixels, file, writtenIn).timeout({
      seconds: Math.max(1, Math.floor(timeoutMs / 1000)),
    });
  const prepareSample = (sample: Pixels) => {
    const opened = openPixels(sample).timeout({ seconds: secondsLeft(task.deadlineMs) });
    return writtenIn === undefined ? opened : opened.toColourspace(writtenIn);
  };
  // The picture is now detached from its file, and needs its delays and its loop count.
  const motion = motionOf(work);
  const reached = await reachTarget({
    pixels,
    encode: {
      ...encode,
      target,
      ...(encode.format === 'png' && { filtered: rowFilterFor(pixels).filtered }),
      ...(encode.format === 'webp' && fineColours('webp', pixels)),
    },
    motion,
    original: originalOf(work),
    deadlineMs: task.deadlineMs,
    nowMs: Date.now,
    prepare,
    prepareSample,
    finish,
  });
  return { ...reached, processedMs };
}

/** Formats that can store a single channel. */
const GREY_FORMATS: readonly OutputFormat[] = ['jpeg', 'png', 'tiff'];

/** Whether kept metadata is valid for a grey result: it is if the picture was grey before. */
function carriesGrey({ source, profile }: PassWork): boolean {
  return source.isGrey && profile === 'own';
}

/** Whether the result is grey and its format can store a single channel. */
export function staysGrey({ encode, source, steps }: Pick<PassWork, 'encode' | 'source' | 'steps'>): boolean {
  if (!GREY_FORMATS.includes(encode.format)) return false;
  if (!isGreyColour(encode.background)) return false;
  return steps.reduce(
    (wasGrey, { operation, params }) => operation.greyAfter(wasGrey, params),
    source.isGrey,
  );
}

/** Whether 16 bits can be written. */
function staysDeep({ encode, source }: PassWork): boolean {
  const { format, quality, palette, colors, target } = encode;
  if (!source.is16Bit || target !== undefined) return false;
  return format === 'png'
    ? palette === undefined && colors === undefined
    : format === 'tiff' && quality === undefined;
}

/**
 * Formats of drawings and screenshots besides photographs. Pictures in other formats have already lost their hard
 * edges.
 */
const DRAWN_FORMATS: readonly string[] = ['png', 'gif', 'raw'];

/**
 * The largest result of a photograph, in pixels, that is searched for hard edges too. Its source may have had them
 * before it was scaled down.
 */
const MAX_CHECKED_PX = 4_000_000;

/**
 * Settings that a lossy file needs for hard edges between colours, unless the caller chose them. The search for such
 * edges needs its own pipeline: it takes 2 of the 33 ms of a 12 MP JPEG to 512 px. A photograph as a camera wrote it is
 * not searched, because it has none.
 */
async function colourDetailFor({
  task,
  encode,
  source,
  picture,
  steps,
}: PassWork): Promise<Partial<EncodeSettings>> {
  const { format, chroma, lossless } = encode;
  const isCoarse = format === 'webp' || ((format === 'jpeg' || format === 'avif') && chroma === undefined);
  if (!isCoarse || lossless === true || picture.writtenIn !== undefined || picture.frames > 1) return {};
  const isDrawn = DRAWN_FORMATS.includes(source.format);
  if (!isDrawn && (format !== 'webp' || picture.width * picture.height > MAX_CHECKED_PX)) return {};
  if (!isDrawn && steps.every(isSamePicture) && isFromCamera(task.input)) return {};
  return fineColours(format, await picture.pixels());
}

function fineColours(format: OutputFormat, pixels: Pixels): Partial<EncodeSettings> {
  if (!hasHardColourEdges(pixels)) return {};
  return format === 'webp' ? { sharpColours: true } : { chroma: '4:4:4' };
}

/** The row filter of a PNG. A photograph that was only moved or scaled is recognised without a look at its pixels. */
async function filterFor({ encode, source, picture, steps }: PassWork): Promise<Partial<RowFilter>> {
  const { format, palette, colors } = encode;
  if (format !== 'png' || palette === true || colors !== undefined) return {};
  const isPhoto = source.format === 'jpeg' && steps.every(isSamePicture);
  return isPhoto || picture.isDeep ? ROW_FILTER_ON : rowFilterFor(await picture.pixels());
}

/** The effort of the AVIF of a drawing, which needs more than a photograph; none for any other picture. */
async function drawingEffortFor({ encode, source, picture }: PassWork): Promise<Partial<EncodeSettings>> {
  const { format, effort, lossless } = encode;
  if (format !== 'avif' || effort !== undefined || lossless === true || picture.frames > 1) return {};
  if (!DRAWN_FORMATS.includes(source.format) || picture.width * picture.height > DRAWING_AVIF.mostPx)
    return {};
  return rowFilterFor(await picture.pixels()).filtered ? {} : { effort: DRAWING_AVIF.effort };
}

/** Writes an indexed PNG as an indexed PNG again if the steps added no colours; undefined otherwise. */
async function writtenIndexed(
  { source, encode, picture }: PassWork,
  write: (settings: EncodeSettings & { format: 'png' }) => Promise<Written>,
): Promise<Written | undefined> {
  const { format, palette, colors } = encode;
  if (!source.isIndexed || format !== 'png' || palette !== undefined || colors !== undefined)
    return undefined;
  const pixels = await picture.pixels();
  const exact = exactPaletteOf(pixels);
  const written = exact && (await write({ ...encode, format, ...exact }));
  return written !== undefined && (await shows(written.data, pixels)) ? written : undefined;
}

/**
 * The input itself if the picture is unchanged and the pass asks for no other encoding. It is still decoded, as a
 * check.
 */
async function untouchedInput(work: PassWork): Promise<Written | undefined> {
  const { encode, source, picture } = work;
  const isKept = encode.target === undefined && !source.isDeep && picture.isUntouched;
  const file = isKept ? originalOf(work)?.file : undefined;
  if (file !== undefined) await picture.pixels();
  return file;
}

/** The input of a pass that asks only for a smaller file of the same format; undefined for any other pass. */
function originalOf({
  task,
  steps,
  encode,
  source,
  isConverted,
  chosen,
  picture,
}: PassWork): Original | undefined {
  const { input } = task;
  const isSame = writableFormat(source.format) === encode.format && chosen.count === source.frames;
  const asksMore = Object.keys(encode).some((key) => !NEUTRAL_KEYS.includes(key));
  const isChanged = steps.length > 0 && !picture.isUntouched;
  if (task.raw !== undefined || isConverted || isChanged || !isSame || asksMore) return undefined;
  const bytes = input.byteLength;
  // Kept metadata also loses its previews, which happens only to a file that is written again.
  if (source.orientation > 1 || !isBare(input, encode.format)) return { bytes };
  const info = { width: source.width, height: source.height * source.frames, size: bytes };
  // The copy owns its memory, because the thread frees the input once the pass is done, and slice() of a Buffer copies
  // nothing.
  return { bytes, file: { data: new Uint8Array(input), info } };
}

/** Puts the compressed pixels of the input into the result if they are smaller. Both files show the same picture. */
function withPixelsOf({ task, source, profile }: PassWork, { data, info }: Written): Written {
  if (source.orientation > 1) return { data, info };
  const smaller = withSmallerPixels(data, task.input, profile === 'own');
  return { data: smaller, info: { ...info, size: smaller.byteLength } };
}

/**
 * Whether the encoder takes the playback of its file. Raw pixels carry neither delays nor a loop count, and a part of
 * an animation would get the delays of its first frames.
 */
function hasOwnMotion({ picture, chosen, source }: PassWork): boolean {
  return picture.fromFile && chosen.count === source.frames;
}

/** The playback of an animation, unless the encoder takes that of its file. */
function motionOf(work: PassWork): Motion {
  const { picture, source } = work;
  if (picture.frames === 1 || hasOwnMotion(work)) return {};
  const { delays, loop } = source;
  const delay = delays?.map((delayMs) => Math.min(delayMs, MAX_SENT_MS));
  return { ...(delay !== undefined && { delay }), ...(loop !== undefined && { loop }) };
}
