import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { TransformResult } from '../../imaging/images/image-call.ts';
import { checkImageBody } from '../../platform/http/bodies/image-body.ts';
import { envelopeOf, success } from '../../platform/http/envelope.ts';
import { addWarnings } from '../../platform/http/hooks/warnings.ts';
import type { Caller } from '../accounts/authentication.ts';
import type { Models } from '../models/models.ts';
import { type FontOptions, textOf } from './fonts.ts';
import { readInput, type Source } from './input.ts';
import { beginCall, counted, loadImage, type MeteredCallOptions, sendPicture } from './metered-call.ts';
import { RESULT_LIFE_SECONDS, type TemporaryResults } from './results.ts';
import { CallCompiler, type CompiledCall, type Query, type TransformCall } from './transform-call.ts';
import { SentSteps, transformQuery, transformReference } from './transform-schema.ts';

interface TransformOptions extends MeteredCallOptions, FontOptions {
  results: TemporaryResults;
  models: Models;
  /** Returns the one pass of a preset that runs here. It throws the API's preset errors. */
  presetPass: (accountId: string, reference: string) => Promise<Pick<CompiledCall, 'pass' | 'warnings'>>;
}

/** POST /images/transform: runs one op, one preset or a list of steps on one image, while the caller waits. */
export async function transformRoutes(app: FastifyInstance, options: TransformOptions): Promise<void> {
  const { imageWorkers, results, models, presetPass, fonts } = options;
  const calls = new CallCompiler(models);

  app.post<{ Querystring: Query }>(
    '/images/transform',
    {
      config: {
        slot: 'calls',
        body: 'stream',
        reference: transformReference(),
        formFields: FORM_FIELDS,
        responseType: 'image/*',
        check: checkBeforeBody,
      },
      schema: {
        summary: 'Transform an image',
        description:
          'Runs one op of the catalogue, a list of deterministic steps (a field of JSON or multipart), or one saved preset without an AI step, on one image: raw bytes with their own Content-Type, a multipart `file` part, or a JSON reference with `url` or `assetId`. Nothing is stored.',
        querystring: transformQuery(),
        response: { 200: envelopeOf(ResultLink) },
      },
      // The catalogue checks the query, because each op has its own contract.
      validatorCompiler: () => () => true,
    },
    async (request, reply) => {
      const underWay = beginCall(request, reply, options);
      const { caller } = underWay;
      const terms = underWay.expectedBy(imageWorkers);
      const input = await readInput(request);
      const call = calls.compile(request, input.fields);
      const { name, pass, warnings, paramOf, ...work } = await compiled(call, caller);
      const asJob = { ...work.asJob, ...assetsOf(input) };
      const done = await counted(options.allowance, caller, name, async () => {
        const image = await loadImage(input, options, terms);
        const fetchMs = underWay.admittedMs();
        const bytesIn = image.bytes.length;
        const result = await underWay.finish(
          imageWorkers.transform({ ...image, ...terms, pass, paramOf, asJob }),
        );
        const link = request.query.response === 'url' ? await results.store(result) : null;
        return { fetchMs, bytesIn, link, ...result };
      });
      underWay.ran(name, done);
      addWarnings(reply, [
        ...warnings.map(({ code }) => ({ code })),
        ...(done.warnings ?? []),
        ...(await fonts.findWarnings(textOf(pass))),
      ]);
      sendFindings(reply, done);
      return done.link === null ? sendPicture(reply, done) : answerLink(done.link, done);
    },
  );

  async function compiled(call: TransformCall, { accountId }: Caller): Promise<CompiledCall> {
    if (call.kind === 'pass') return call;
    const { reference } = call;
    const paramOf = (passParam: string) => (passParam === 'frame' ? 'frame' : 'preset');
    const run = await presetPass(accountId, reference);
    return { ...run, name: 'preset', paramOf, asJob: { presetId: reference } };
  }

  function checkBeforeBody(request: FastifyRequest): void {
    checkImageBody(request);
    const type = request.headers['content-type'] ?? '';
    calls.checkQuery(request, !type.startsWith('image/'));
  }
}

/** The fields of a multipart body besides the file. The parameters of the op may be separate fields. */
const FORM_FIELDS = {
  steps: Type.Optional(Type.String({ description: `JSON text. ${SentSteps.description}` })),
};

/** The assets of a job with the same image. It takes assets alone: another image has to be uploaded first. */
function assetsOf(source: Source): { assetIds?: string[] } {
  return source.kind === 'asset' ? { assetIds: [source.assetId] } : {};
}

const ResultLink = Type.Object(
  {
    url: Type.String({ format: 'uri', description: 'Signed, good for 5 minutes.' }),
    contentType: Type.String(),
    bytes: Type.Integer(),
    expiresInSeconds: Type.Integer(),
    width: Type.Integer(),
    height: Type.Integer(),
  },
  { title: 'ResultLink' },
);

function answerLink(url: string, { data, contentType, width, height }: TransformResult) {
  const link = { url, contentType, bytes: data.length, width, height };
  return success('Image transformed.', { ...link, expiresInSeconds: RESULT_LIFE_SECONDS });
}

/**
 * Sends the findings of a pass as headers: the results of a search for a target, the hashes of the picture that a
 * placeholder represents, the bit depth. Those that do not apply are left out.
 */
function sendFindings(reply: FastifyReply, { achieved, hashes, bitDepth }: TransformResult): void {
  // Most passes have no findings.
  if (achieved === undefined && hashes === undefined && bitDepth === undefined) return;
  const findings = {
    quality: achieved?.quality,
    ssim: achieved?.ssim,
    ssimulacra2: achieved?.ssimulacra2,
    trials: achieved?.trials,
    thumbhash: hashes?.thumbhash,
    blurhash: hashes?.blurhash,
    'bit-depth': bitDepth,
  };
  for (const [name, value] of Object.entries(findings))
    if (value !== undefined) reply.header(`x-service-${name}`, String(value));
}
