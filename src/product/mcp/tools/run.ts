import { type Static, type TObject, Type } from '@sinclair/typebox';
import { imageRequestBody, isImageReference } from '../../../client/bodies.ts';
import type { DeliveryLink, ResultLink } from '../../../client/schema.ts';
import { jsonRequestBody } from '../../../client/transport.ts';
import { withoutAbsentFields } from '../../../platform/values/present.ts';
import { WITHIN_PARAMETERS } from '../../catalogue/index.ts';
import {
  ensureAssetId,
  ImageInputSchema,
  type InputSource,
  openImageInput,
  type ToolImage,
} from '../inputs.ts';
import {
  describeResultPicture,
  pictureResult,
  RESULT_OUTPUT_FIELDS,
  readRequestedPreviews,
  requestedTiming,
  SAVE_ARGUMENTS,
} from '../results.ts';
import { AnyObjectSchema, defineTool, type ToolResult } from '../tool.ts';

const MAX_RUN_STEPS = 12;

/** The steps in the form of the API. They are not checked here, because the API refuses invalid steps itself. */
const StepsSchema = Type.Array(
  Type.Object(
    { op: Type.String(), parameters: Type.Optional(AnyObjectSchema) },
    { additionalProperties: true, within: WITHIN_PARAMETERS },
  ),
  { minItems: 1, maxItems: MAX_RUN_STEPS },
);
const OutputsSchema = Type.Array(
  Type.Object(
    {
      name: Type.String(),
      op: Type.Optional(Type.String()),
      parameters: Type.Optional(AnyObjectSchema),
      steps: Type.Optional(Type.Array(AnyObjectSchema)),
    },
    { additionalProperties: true },
  ),
  { minItems: 2, maxItems: MAX_RUN_STEPS, description: 'Several results; steps beside them run first.' },
);
const RunArguments = {
  input: ImageInputSchema,
  steps: Type.Optional(StepsSchema),
  preset: Type.Optional(Type.String({ description: 'Slug, instead of steps.' })),
  outputs: Type.Optional(OutputsSchema),
  dryRun: Type.Optional(Type.Boolean()),
  address: Type.Optional(Type.Boolean({ description: 'Only sign an <img> for web pages, made on request.' })),
  ...SAVE_ARGUMENTS,
};

export const runTool = defineTool({
  name: 'run',
  title: 'Run steps on an image',
  description: 'Runs 1 to 12 steps, a preset, or several outputs on one image now. Answers facts and a link.',
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  input: RunArguments,
  output: { ...RESULT_OUTPUT_FIELDS, outputs: Type.Array(AnyObjectSchema), html: Type.String() },
  async run(args, source) {
    const { input, steps, preset, outputs } = args;
    const image = await openImageInput(input, source);
    if (args.address === true) return signDeliveryAddress(image, { steps, preset }, source);
    const body = imageRequestBody(image, withoutAbsentFields({ steps, preset, outputs }));
    const call = { method: 'POST', path: '/images/transform', body };
    if (args.dryRun === true) {
      const { data } = await source.service.json<object>({ ...call, query: { dryRun: true } });
      return { structured: { ...data } };
    }
    type Answer = ResultLink | { outputs: RunOutput[] };
    const query = { response: 'url' };
    const { data, headers } = await source.service.json<Answer>({ ...call, query });
    if (!('outputs' in data)) return pictureResult(data, headers, args, source);
    const { structured, ...others } = await describeOutputs(data.outputs, args, source);
    return { structured: { ...structured, ...requestedTiming(headers, args) }, ...others };
  },
});

/**
 * Makes a signed address for web pages. The first request to the address makes the picture; later ones read it from a
 * cache.
 */
async function signDeliveryAddress(
  image: ToolImage,
  work: object,
  { service }: InputSource,
): Promise<ToolResult> {
  const picture = isImageReference(image) ? image : { assetId: await ensureAssetId(image, service) };
  const body = jsonRequestBody({ ...picture, ...work });
  const { data } = await service.json<DeliveryLink>({ method: 'POST', path: '/delivery-links', body });
  return { structured: { link: data.url, html: data.html } };
}

/** One of several outputs in the response of the API. */
type RunOutput = { name: string } & ((ResultLink & { warnings?: string }) | { error: object });

async function describeOutputs(
  sent: readonly RunOutput[],
  args: Static<TObject<typeof RunArguments>>,
  source: InputSource,
): Promise<ToolResult> {
  const outputs: Array<{ name: string; link?: string }> = [];
  for (const output of sent) {
    if ('error' in output) outputs.push(output);
    else
      outputs.push({
        name: output.name,
        ...(await describeResultPicture(output, output.warnings, args, source)),
      });
  }
  const [link] = outputs.flatMap((output) => output.link ?? []);
  return { structured: { outputs }, pictures: await readRequestedPreviews(link, args, source) };
}
