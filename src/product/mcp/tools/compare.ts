import { Type } from '@sinclair/typebox';
import { imagePairRequestBody, isImageReference } from '../../../client/bodies.ts';
import type { Difference } from '../../../client/schema.ts';
import type { RequestBody } from '../../../client/transport.ts';
import { invalidParamError } from '../../../platform/http/errors/errors.ts';
import { ImageInputSchema, type InputSource, openImageInput, type ToolImage } from '../inputs.ts';
import { AnyObjectSchema, defineTool } from '../tool.ts';

export const compareTool = defineTool({
  name: 'compare',
  title: 'Compare two images',
  description:
    'How two images of one size differ: SSIM, share of changed pixels, hash distance, regions; on request SSIMULACRA 2. One run.',
  annotations: { readOnlyHint: true, openWorldHint: true },
  input: { input: ImageInputSchema, other: ImageInputSchema, ssimulacra2: Type.Optional(Type.Boolean()) },
  output: {
    ssim: Type.Number(),
    ssimulacra2: Type.Number(),
    changedShare: Type.Number(),
    maxDifference: Type.Integer(),
    hashDistance: Type.Integer(),
    regions: Type.Array(AnyObjectSchema),
  },
  async run({ input, other, ssimulacra2 = false }, source) {
    const one = await openImageInput(input, source);
    const two = await openImageInput(other, source, 'other');
    const body = await encodeImagePair(one, two, source);
    const call = { method: 'POST', path: '/images/compare', query: { ssimulacra2 }, body };
    return { structured: { ...(await source.service.json<Difference>(call)).data } };
  },
});

/**
 * The body of a call with two images. If one of them must be sent as bytes, both are, because a call has a single form.
 */
async function encodeImagePair(
  first: ToolImage,
  second: ToolImage,
  source: InputSource,
): Promise<RequestBody> {
  if (isImageReference(first) && isImageReference(second)) return imagePairRequestBody(first, second);
  return imagePairRequestBody(
    await readBytes(first, 'input', source),
    await readBytes(second, 'other', source),
  );
}

async function readBytes(image: ToolImage, argument: string, { readPicture }: InputSource): Promise<Blob> {
  if (!isImageReference(image)) return image;
  if ('assetId' in image) return readPicture(`/api/v1/assets/${encodeURIComponent(image.assetId)}/content`);
  const message = 'A URL is not compared with a result: save the result first, and send its asset.';
  throw invalidParamError(argument, message);
}
