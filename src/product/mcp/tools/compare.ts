import { Type } from '@sinclair/typebox';
import { invalidParamError } from '../../../platform/http/errors/errors.ts';
import { ImageInputSchema, imageBlob, openImageInput, type ToolImage } from '../inputs.ts';
import type { PublicInterface, RequestPayload } from '../public-interface.ts';
import { AnyObjectSchema, Tool } from '../tool.ts';

export const compareTool = Tool.of({
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
    const sent = await encodeImagePair(one, two, source.service);
    const path = `/images/compare?ssimulacra2=${ssimulacra2}`;
    const { data } = await source.service.call<object>('POST', path, sent);
    return { structured: { ...data } };
  },
});

/**
 * The body of a call with two images. If one of them must be sent as bytes, both are, because a call has a single form.
 */
async function encodeImagePair(
  first: ToolImage,
  second: ToolImage,
  service: PublicInterface,
): Promise<RequestPayload> {
  if (!('bytes' in first) && !('bytes' in second)) {
    const other = 'assetId' in second ? { otherAssetId: second.assetId } : { otherUrl: second.url };
    return { json: { ...first, ...other } };
  }
  const form = new FormData();
  form.append('file', imageBlob(await readBytes(first, 'input', service)), 'image');
  form.append('other', imageBlob(await readBytes(second, 'other', service)), 'other');
  return { form };
}

async function readBytes(image: ToolImage, argument: string, service: PublicInterface): Promise<Buffer> {
  if ('bytes' in image) return image.bytes;
  if ('assetId' in image) return service.read(`/api/v1/assets/${encodeURIComponent(image.assetId)}/content`);
  const message = 'A URL is not compared with a result: save the result first, and send its asset.';
  throw invalidParamError(argument, message);
}
