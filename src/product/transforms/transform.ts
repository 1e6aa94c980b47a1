import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { displayedSizeOf } from '../../imaging/images/estimates/prediction.ts';
import { readImageHeader } from '../../imaging/images/header/header.ts';
import type { LayerFiles, PassOutcome } from '../../imaging/images/image-call.ts';
import { checkImageContentType } from '../../platform/http/bodies/image-body.ts';
import { envelopeSchemaOf, successEnvelope } from '../../platform/http/envelope.ts';
import type { CorrectableCall } from '../../platform/http/errors/corrections.ts';
import { ApiError } from '../../platform/http/errors/errors.ts';
import { isDryRun, textField } from '../../platform/http/fields.ts';
import { addWarnings } from '../../platform/http/hooks/warnings.ts';
import { isJsonObject } from '../../platform/values/json.ts';
import { callWarningsOf } from '../catalogue/checks/warnings.ts';
import type { ModelsFile } from '../models/models.ts';
import type { PresetsSlice } from '../presets/open.ts';
import {
  DRY_RUN_MESSAGE,
  estimatePasses,
  ImageEstimate,
  OutputEstimates,
  sendOutputEstimates,
} from './estimates.ts';
import { type FontRoutesOptions, findPassWarnings } from './fonts.ts';
import {
  type CallInput,
  findSentImageBytes,
  type ImageSource,
  jobInputsOf,
  parseBodyFields,
  readCallInput,
} from './input.ts';
import { checkLayerParts, loadLayers, type RequestedLayer } from './layers.ts';
import {
  formatOfContentType,
  type LoadedImage,
  type MeteredCallOptions,
  measurementHeadersOf,
  runCountedBatch,
  SyncCall,
  sendPicture,
} from './metered-call.ts';
import {
  MULTIPART_MIXED_TYPE,
  type OutputResultOrError,
  sendOutputLinks,
  sendOutputs,
  ZIP_TYPE,
} from './outputs.ts';
import { ResultLink, resultLinkBody, type TemporaryResults } from './results.ts';
import {
  type CompiledOutput,
  type CompiledTransformCall,
  jobBodiesOfOutputs,
  TransformCallCompiler,
} from './transform-call.ts';
import { overriddenFieldWarnings, type RawQueryFields } from './transform-query.ts';
import {
  RequestedOutputs,
  RequestedTransformSteps,
  transformBodySchema,
  transformQuerySchema,
} from './transform-schema.ts';

interface TransformOptions extends MeteredCallOptions, FontRoutesOptions {
  results: TemporaryResults;
  models: ModelsFile;
  presets: Pick<PresetsSlice, 'findPass' | 'find'>;
}

/** Serves POST /images/transform, a synchronous call: runs one op, one preset or a list of steps on one image. */
export async function transformRoutes(app: FastifyInstance, options: TransformOptions): Promise<void> {
  const calls = new TransformCallHandler(options);
  app.post<{ Querystring: RawQueryFields }>(
    '/images/transform',
    {
      config: {
        slot: (request) => (isDryRun(request) ? null : 'calls'),
        body: 'stream',
        reference: transformBodySchema(),
        formFields: FORM_FIELDS,
        furtherFiles: ['layer'],
        responseType: ['image/*', MULTIPART_MIXED_TYPE, ZIP_TYPE],
        check: calls.checkBeforeBody,
        recheck: calls.recheck,
        pictureSize: calls.findPictureSize,
      },
      schema: {
        summary: 'Transform an image',
        description:
          'Runs one op of the catalogue, a list of deterministic steps (a field of JSON or multipart), or one saved preset without an AI step, on one image: raw bytes with their own Content-Type, a multipart `file` part, or a JSON reference with `url` or `assetId`. A step that reads a second picture takes it of a multipart part `layer` (the next one of `layer2`), or by `layerUrl` or `layerAssetId` in its parameters. Nothing is stored. With dryRun=true the call is checked and priced only.',
        querystring: transformQuerySchema(),
        response: { 200: envelopeSchemaOf(TransformAnswers) },
      },
      // The query is not validated against a schema, because the catalogue checks it by the contract of the op.
      validatorCompiler: () => () => true,
    },
    calls.answer,
  );
}

type TransformRequest = FastifyRequest<{ Querystring: RawQueryFields }>;

/** A call after its image and its work were read. */
interface OpenCall {
  request: TransformRequest;
  reply: FastifyReply;
  syncCall: SyncCall;
  input: CallInput;
}

/** Handles the calls of the route. */
class TransformCallHandler {
  readonly #options: TransformOptions;
  readonly #compiler: TransformCallCompiler;

  constructor(options: TransformOptions) {
    this.#options = options;
    this.#compiler = new TransformCallCompiler(options);
  }

  /** Handles a call: reads the image and the work, then makes one result or several. */
  readonly answer = async (request: TransformRequest, reply: FastifyReply) => {
    const syncCall = new SyncCall(request, reply, this.#options);
    syncCall.reserveQueuePlace();
    const input = await readCallInput(request);
    const inputs = jobInputsOf(input);
    const sent = this.#compiler.compile(request, input.fields, inputs);
    addWarnings(reply, overriddenFieldWarnings(request.query, input.fields));
    const open = { request, reply, syncCall, input };
    const { accountId } = syncCall.caller;
    if (sent.kind !== 'outputs')
      return this.#answerResult(open, await this.#compiler.findPass(sent, accountId, inputs));
    const branches = await this.#compiler.compileOutputs(sent, accountId, inputs);
    return this.#answerOutputs(open, branches, jobBodiesOfOutputs(sent, branches));
  };

  /** Refuses a call that no body can make valid. This needs only the headers and the query. */
  readonly checkBeforeBody = (request: FastifyRequest): void => {
    checkImageContentType(request);
    const type = request.headers['content-type'] ?? '';
    const bodyMayAdd = !type.startsWith('image/');
    try {
      this.#compiler.checkQuery(request, bodyMayAdd);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      // An error with corrections or an alternative call is not thrown yet. After the body is read, the call is refused
      // again, with all its corrections and with the body's asset in the alternative. Corrections that are shares of a
      // side need the size of the picture, which comes from the body.
      const { corrections, details } = error;
      const hasShares = corrections.some((correction) => 'share' in correction);
      const isCompletedByBody = corrections.length > 0 || details?.instead !== undefined;
      if (!hasShares && !(bodyMayAdd && isCompletedByBody)) throw error;
    }
  };

  /** Compiles a corrected call without running it, to find out whether it would be accepted. */
  readonly recheck = async (request: FastifyRequest, call: CorrectableCall): Promise<void> => {
    const { accountId } = this.#options.gate.requireCaller(request);
    const sent = this.#compiler.compileUncached(call.query as RawQueryFields, parseBodyFields(call));
    if (sent.kind === 'outputs') await this.#compiler.compileOutputs(sent, accountId);
    else await this.#compiler.findPass(sent, accountId);
  };

  /** The size of the image, if its bytes were sent, or if it is an asset. The image of a URL is not fetched for it. */
  readonly findPictureSize = async (request: FastifyRequest, { body }: CorrectableCall) => {
    const header = readImageHeader(findSentImageBytes(request) ?? new Uint8Array());
    if (header !== null) return displayedSizeOf(header);
    const { accountId } = this.#options.gate.requireCaller(request);
    const assetIds = isJsonObject(body) ? [body.assetId] : [];
    return this.#options.assets.findSizeOfOnlyAsset(accountId, assetIds);
  };

  /** Makes one result. For a dry run, sends the estimate instead. */
  async #answerResult(open: OpenCall, call: CompiledTransformCall) {
    const { request, reply, syncCall, input } = open;
    const { imageWorkers, results } = this.#options;
    const { op, pass, warnings, layers, paramOf, asJob } = call;
    checkLayerParts(layers, input.files);
    if (isDryRun(request)) {
      const [estimate] = await this.#estimatePasses(open, [call]);
      if (estimate === undefined || estimate instanceof ApiError) throw estimate;
      return successEnvelope(DRY_RUN_MESSAGE, estimate);
    }
    const done = await syncCall.run(op, async () => {
      const pictures = { ...(await loadPictures(open, layers)), ...syncCall.terms };
      const work = imageWorkers.transform({ ...pictures, pass, paramOf, ...addImageToJobs(input, asJob) });
      const result = await syncCall.finish(work);
      const link = request.query.response === 'url' ? await results.store(result) : null;
      return { ...result, bytesOut: result.data.length, link };
    });
    addWarnings(reply, [...callWarningsOf(warnings), ...(await findPassWarnings(this.#options, pass, done))]);
    reply.headers(measurementHeadersOf(done)).header('x-service-format', formatOfContentType(done));
    if (done.link !== null) return successEnvelope('Image transformed.', resultLinkBody(done.link, done));
    return sendPicture(reply, done);
  }

  /**
   * Makes several outputs of one image. For a dry run, sends the estimates instead. A failed output does not affect the
   * others.
   * @param asJobs the bodies of jobs that do the same, without the image.
   */
  async #answerOutputs(
    open: OpenCall,
    branches: readonly CompiledOutput[],
    asJobs: readonly Record<string, unknown>[],
  ) {
    const { request, reply, syncCall, input } = open;
    const { allowance, imageWorkers, results, now } = this.#options;
    const layers = branches.flatMap((branch) => branch.layers);
    checkLayerParts(layers, input.files);
    if (isDryRun(request)) {
      const names = branches.map(({ name }) => name);
      return sendOutputEstimates(await this.#estimatePasses(open, branches), names, request.id);
    }
    const ops = branches.map(({ op }) => op);
    const works = branches.map((branch) => ({ ...branch, ...addImageToJobs(input, branch.asJob) }));
    const jobs = addImageToJobs(input, ...asJobs);
    const done = await runCountedBatch(allowance, syncCall.caller, ops, async () => {
      const pictures = { ...(await loadPictures(open, layers)), ...syncCall.terms };
      const made = await syncCall.finish(imageWorkers.branch({ ...pictures, ...jobs, branches: works }));
      const succeeded = made.outputs.map((output) => !(output instanceof ApiError));
      const [first] = made.outputs;
      if (first instanceof ApiError && !succeeded.includes(true)) throw first;
      const outputs = await this.#nameOutputs(branches, made.outputs);
      const links =
        request.query.response === 'url' ? await sendOutputLinks(request, outputs, results) : null;
      return { result: { ...made, outputs, links }, succeeded };
    });
    syncCall.recordRun('outputs', { ...done, bytesOut: outputBytesOf(done.outputs) });
    const succeeded = done.outputs.filter((output) => 'picture' in output).length;
    reply.header('x-service-outputs', `${succeeded}/${branches.length}`);
    return done.links ?? sendOutputs(request, reply, done.outputs, now());
  }

  /** Estimates the result and the price of each pass of a call. */
  async #estimatePasses(open: OpenCall, branches: readonly CompiledTransformCall[]) {
    const layers = branches.flatMap((branch) => branch.layers);
    const image = await loadPictures(open, layers);
    const estimates = await estimatePasses(image, branches, open.syncCall.caller, this.#options);
    for (const estimate of estimates)
      if (!(estimate instanceof ApiError)) addWarnings(open.reply, estimate.warnings);
    return estimates;
  }

  /** The outputs with their names and warnings. */
  async #nameOutputs(
    branches: readonly CompiledOutput[],
    made: readonly PassOutcome[],
  ): Promise<OutputResultOrError[]> {
    const outputs: OutputResultOrError[] = [];
    for (const [index, { name, pass, warnings }] of branches.entries()) {
      const output = made[index];
      if (output === undefined) throw new Error(`The output ${name} has no result.`);
      if (output instanceof ApiError) {
        outputs.push({ name, refusal: output });
        continue;
      }
      const found = await findPassWarnings(this.#options, pass, output);
      outputs.push({ name, picture: output, warnings: [...callWarningsOf(warnings), ...found] });
    }
    return outputs;
  }
}

/** Loads the image of a call, and the second pictures that its steps read. */
async function loadPictures(
  { syncCall, input }: OpenCall,
  layers: readonly RequestedLayer[],
): Promise<LoadedImage & { layers?: LayerFiles }> {
  const image = await syncCall.load(input);
  return { ...image, ...(await loadLayers(layers, input.files, syncCall)) };
}

function outputBytesOf(outputs: readonly OutputResultOrError[]): number {
  return outputs.reduce((sum, output) => sum + ('picture' in output ? output.picture.data.length : 0), 0);
}

/** The fields of a multipart body besides the file. The parameters of the op may be further fields. */
const FORM_FIELDS = {
  steps: Type.Optional(textField(`JSON text. ${RequestedTransformSteps.description}`)),
  outputs: Type.Optional(textField(`JSON text. ${RequestedOutputs.description}`)),
};

/**
 * Completes the bodies of jobs with the image of the call. A job takes only assets, so an image that is not an asset
 * must be uploaded first.
 */
function addImageToJobs(source: ImageSource, ...jobs: readonly (Record<string, unknown> | undefined)[]) {
  const inputs = jobInputsOf(source);
  const asJobs = jobs.flatMap((job) => (job === undefined ? [] : [{ ...job, ...inputs }]));
  return asJobs.length === 0 ? {} : { asJobs };
}

const OutputLinks = Type.Object(
  {
    outputs: Type.Array(
      Type.Object({
        name: Type.String(),
        ...Type.Partial(ResultLink).properties,
        warnings: Type.Optional(textField('As in X-Service-Warnings.')),
        error: Type.Optional(
          Type.Unknown({ description: 'The error of an output that failed, instead of its link.' }),
        ),
      }),
    ),
  },
  { title: 'OutputLinks' },
);
/** The JSON responses, which replace the picture: estimates and links. */
const TransformAnswers = Type.Union([ImageEstimate, OutputEstimates, ResultLink, OutputLinks], {
  title: 'TransformAnswer',
});
