import { type Static, Type } from '@sinclair/typebox';
import { isStoredFile } from '../../imaging/images/image-call.ts';
import { type PredictedResult, previewPasses } from '../../imaging/images/preview.ts';
import { successEnvelope } from '../../platform/http/envelope.ts';
import { ApiError } from '../../platform/http/errors/errors.ts';
import { apiErrorBody } from '../../platform/http/errors/failures.ts';
import { componentSchema } from '../../platform/http/fields.ts';
import { CallWarning } from '../../platform/http/hooks/warnings.ts';
import type { Caller } from '../accounts/authentication.ts';
import type { RunAllowance } from '../billing/allowance.ts';
import { callWarningsOf } from '../catalogue/checks/warnings.ts';
import { OUTPUT_FORMATS } from '../catalogue/parameters.ts';
import { type FontRoutesOptions, findPassWarnings } from './fonts.ts';
import type { LoadedImage } from './metered-call.ts';
import type { CompiledTransformCall } from './transform-call.ts';

const sizeOrNullField = (description: string) =>
  Type.Union([Type.Integer(), Type.Null()], { description: `${description}; null if only the pixels tell.` });

/** What a call would return and what it would cost. */
export const ImageEstimate = componentSchema('ImageEstimate', {
  format: Type.Unsafe<PredictedResult['format']>({
    type: ['string', 'null'],
    enum: [...OUTPUT_FORMATS, null],
    description: 'Null if only the pixels tell which of several is the smallest.',
  }),
  width: sizeOrNullField('In pixels'),
  height: sizeOrNullField('In pixels, of one frame'),
  frames: Type.Integer(),
  transparency: Type.Union([Type.Boolean(), Type.Null()], {
    description: 'Whether parts of it can be transparent; null if only the pixels tell.',
  }),
  price: Type.Integer({ description: 'In credits: 0 within the allowance of the plan.' }),
  warnings: Type.Array(CallWarning, {
    description: 'As in X-Service-Warnings, as far as they are known before the work.',
  }),
});
export type ImageEstimate = Static<typeof ImageEstimate>;

export const OutputEstimates = componentSchema('OutputEstimates', {
  outputs: Type.Array(
    Type.Object({
      name: Type.String(),
      ...Type.Partial(ImageEstimate).properties,
      error: Type.Optional(Type.Unknown({ description: 'The error of an output that would fail.' })),
    }),
  ),
  price: Type.Integer({ description: 'Of the outputs together, in credits.' }),
});

/** The predicted result and the price of each pass, or the error of the pass. A refused pass costs nothing. */
export async function estimatePasses(
  image: LoadedImage,
  branches: readonly CompiledTransformCall[],
  caller: Caller,
  { allowance, fonts }: { allowance: RunAllowance } & FontRoutesOptions,
): Promise<(ImageEstimate | ApiError)[]> {
  const previews = await previewPasses(await withUnreadFrames(image, branches), branches);
  const prices = (await allowance.estimate(caller, branches.length)).values();
  const estimates: (ImageEstimate | ApiError)[] = [];
  for (const [index, { pass, warnings }] of branches.entries()) {
    const made = previews[index];
    if (made === undefined) throw new Error('Every pass has a preview.');
    if (made instanceof ApiError) {
      estimates.push(made);
      continue;
    }
    const found = [...callWarningsOf(warnings), ...(await findPassWarnings({ fonts }, pass, made))];
    estimates.push({ ...made, price: prices.next().value ?? 0, warnings: found });
  }
  return estimates;
}

/**
 * Reads a stored file if a pass may lose frames that its stored facts do not count: those of an animated PNG or an AVIF
 * sequence, which no decoder reads.
 */
async function withUnreadFrames(
  { bytes: file, header }: LoadedImage,
  branches: readonly CompiledTransformCall[],
): Promise<Pick<LoadedImage, 'bytes' | 'header'>> {
  const mayLoseFrames =
    isStoredFile(file) &&
    (file.facts.format === 'png' || file.facts.format === 'avif') &&
    branches.some(({ pass }) => pass.decode.frame === undefined);
  return mayLoseFrames ? { bytes: new Uint8Array(await file.read()), header: null } : { bytes: file, header };
}

/**
 * Sends the estimates of several outputs.
 * @throws the first error, if every output is refused.
 */
export function sendOutputEstimates(
  estimates: readonly (ImageEstimate | ApiError)[],
  names: readonly string[],
  requestId: string,
) {
  const made = estimates.filter((estimate): estimate is ImageEstimate => !(estimate instanceof ApiError));
  const [first] = estimates;
  if (made.length === 0 && first instanceof ApiError) throw first;
  const outputs = estimates.map((estimate, index) => {
    const name = names[index];
    if (estimate instanceof ApiError) return { name, error: apiErrorBody(estimate, requestId).error };
    return { name, ...estimate };
  });
  const data = { outputs, price: made.reduce((sum, { price }) => sum + price, 0) };
  return successEnvelope(DRY_RUN_MESSAGE, data);
}

export const DRY_RUN_MESSAGE = 'Nothing was made: this is what the call would make and cost.';
