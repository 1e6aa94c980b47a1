import { MAX_PIXELS, type OutputFormat, type PassWarning } from '../../../workers/protocol.ts';
import { pixelSizeOfDrawing } from '../../../workers/vector/protocol.ts';
import { ApiError } from '../../platform/http/errors/errors.ts';
import { predictSuccess, resolvedEncodeOf } from './estimates/prediction.ts';
import { apiErrorOfFailure, resultOrApiError } from './failures.ts';
import { passesPerFormat } from './formats.ts';
import type { ImageHeader } from './header/facts.ts';
import { readNaturalSvgSize } from './header/svg.ts';
import { type BranchPass, type ImageCall, isStoredFile } from './image-call.ts';
import { checkPixelCount, doFactsSuffice, headerOfFacts, requireReadableHeader } from './source.ts';
import { drawingSizeForPass } from './vector.ts';

/** The predicted result of a pass, as far as it is known without decoding its file. */
export interface PredictedResult {
  /** The format of the result; null if only the pixels decide which of several formats makes the smallest file. */
  format: OutputFormat | null;
  /** The width of one frame; null if only the pixels show it. */
  width: number | null;
  height: number | null;
  frames: number;
  /** Whether the result can have transparent parts; null if only the pixels show it. */
  transparency: boolean | null;
  warnings: PassWarning[];
}

type PreviewedFile = Pick<ImageCall, 'bytes' | 'header'>;

/**
 * Predicts passes over one file from its header. Nothing is decoded, and no slot is taken.
 * @returns for each pass its result, or the error with which it would end.
 * @throws ApiError unsupported_format, or what the reading of a stored file throws.
 */
export async function previewPasses(
  file: PreviewedFile,
  passes: readonly BranchPass[],
): Promise<(PredictedResult | ApiError)[]> {
  const { header, bytes } = await readPreviewedHeader(file, passes);
  for (const { pass } of passes) checkPixelCount(header, pass, file.bytes.length);
  const preview = (pass: BranchPass) =>
    resultOrApiError(() => previewPass(header, bytes, file.bytes.length, pass));
  return passes.map(({ pass, paramOf }) =>
    joinPreviews(passesPerFormat(pass, header).map((one) => preview({ pass: one, paramOf }))),
  );
}

/**
 * Joins the predictions for the formats that a pass may write. Refused formats are left out. If all are refused, the
 * first error is returned.
 */
function joinPreviews(previews: readonly (PredictedResult | ApiError)[]): PredictedResult | ApiError {
  const [first, ...others] = previews.filter((one): one is PredictedResult => !(one instanceof ApiError));
  const [refusal] = previews;
  if (refusal === undefined) throw new Error('Every pass has a format.');
  if (first === undefined || others.length === 0) return first ?? refusal;
  const allAgree = others.every(({ transparency }) => transparency === first.transparency);
  return { ...first, format: null, transparency: allAgree ? first.transparency : null };
}

/**
 * Reads the header of a file, and the bytes of a drawing. A stored file is read only if its stored facts do not
 * suffice.
 */
async function readPreviewedHeader(
  { bytes: file, header: known }: PreviewedFile,
  passes: readonly BranchPass[],
): Promise<{ header: ImageHeader; bytes: Uint8Array | null }> {
  if (!isStoredFile(file))
    return { header: requireReadableHeader(file, known, passes[0]?.pass), bytes: file };
  const { facts } = file;
  const isPaced = facts.frames > 1 && passes.some(({ pass }) => pass.decode.maxFps !== undefined);
  const suffice = doFactsSuffice(
    file,
    passes.map(({ pass }) => pass),
  );
  if (!isPaced && suffice) return { header: headerOfFacts(facts), bytes: null };
  const bytes = await file.read();
  return { header: requireReadableHeader(bytes, null, passes[0]?.pass), bytes };
}

/**
 * Predicts the result of one pass.
 * @throws the ApiError with which a worker would refuse the pass.
 */
function previewPass(
  header: ImageHeader,
  bytes: Uint8Array | null,
  fileBytes: number,
  { pass, paramOf }: BranchPass,
): PredictedResult {
  const { format } = resolvedEncodeOf(header, pass);
  const drawn = header.format === 'svg' && bytes !== null ? withDrawnSize(header, bytes, pass) : header;
  const predicted = predictSuccess({ header: drawn, fileBytes }, pass, paramOf);
  if (predicted === null) throw new Error('The frames of a file that was read are known.');
  const { made, frames, warnings } = predicted;
  const { width = null, height = null, hasAlpha = null } = made ?? {};
  return { format, width, height, frames, transparency: format === 'jpeg' ? false : hasAlpha, warnings };
}

/** The header of a drawing's pixels. The width is 0 if the size depends on its content. */
function withDrawnSize(header: ImageHeader, bytes: Uint8Array, pass: BranchPass['pass']): ImageHeader {
  const natural = readNaturalSvgSize(bytes);
  if (natural === null) return header;
  const size = pixelSizeOfDrawing(drawingSizeForPass(pass), natural, MAX_PIXELS);
  if ('kind' in size) throw apiErrorOfFailure(size);
  return { ...header, ...size };
}
