import type { Readable } from 'node:stream';
import { type Static, Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type CompareResult, isStoredFile } from '../../imaging/images/image-call.ts';
import { requireReadableHeader } from '../../imaging/images/source.ts';
import { checkImageContentType, mediaTypeOf } from '../../platform/http/bodies/image-body.ts';
import { Multipart } from '../../platform/http/bodies/multipart.ts';
import { envelopeSchemaOf, successEnvelope } from '../../platform/http/envelope.ts';
import type { CallCorrection } from '../../platform/http/errors/corrections.ts';
import { type ApiError, invalidParamError } from '../../platform/http/errors/errors.ts';
import { misplacedFieldsRefusal } from '../../platform/http/hooks/sent-fields.ts';
import { addWarnings, type CallWarning } from '../../platform/http/hooks/warnings.ts';
import { isJsonObject } from '../../platform/values/json.ts';
import { DEFAULT_HASH_DISTANCE, MAX_HASH_DISTANCE } from '../assets/likeness.ts';
import { SCORE_PARAMETER } from '../catalogue/ops/second-pictures.ts';
import {
  type ImageSource,
  MAX_IMAGE_BYTES,
  MAX_MULTIPART_BYTES,
  parseImageSource,
  readFilePart,
  refuseUndeclaredFields,
} from './input.ts';
import { type MeteredCallOptions, SyncCall } from './metered-call.ts';
import { CompareBody } from './transform-schema.ts';

/** Two images to compare, and the parameter to name in errors about the second one. */
interface ImagePair {
  one: ImageSource;
  other: ImageSource;
  otherParam: string;
}

/** Serves POST /images/compare, a synchronous call: the difference between two images of the same size. */
export async function compareRoutes(app: FastifyInstance, options: MeteredCallOptions): Promise<void> {
  app.post<{ Querystring: CompareQuery }>(
    '/images/compare',
    {
      config: {
        ...{ slot: 'calls', body: 'stream', reference: CompareBody, secondFile: 'other' },
        check: checkPairContentType,
        recheck: (_request, { body }) => body === undefined || parseImagePair(body),
      },
      schema: {
        summary: 'Compare two images',
        description:
          'How two images of one size differ: multipart parts `file` and `other`, or a JSON reference with assetId or url and otherAssetId or otherUrl. Of an animation the first frame is compared, and X-Service-Warnings says `first_frame_compared`. The answer is that of the op compare. A success counts one run.',
        querystring: CompareQuery,
        response: { 200: envelopeSchemaOf(Difference) },
      },
    },
    async (request, reply) => {
      const syncCall = new SyncCall(request, reply, options);
      syncCall.reserveQueuePlace();
      const pair = await readImagePair(request);
      const isScored = request.query.ssimulacra2;
      const done = await syncCall.run('compare', async () => {
        const one = await syncCall.load(pair.one);
        const other = await loadOtherImage(syncCall, pair);
        const paramOf = () => pair.otherParam;
        const call = { ...one, ...syncCall.terms, other, paramOf, isScored };
        return syncCall.finish(options.imageWorkers.compare(call));
      });
      addWarnings(reply, comparisonWarnings(done));
      return successEnvelope('Images compared.', done.difference);
    },
  );
}

/** Loads the second image. Errors name the parameter of the second image instead of the first. */
async function loadOtherImage(syncCall: SyncCall, { other, otherParam }: ImagePair) {
  const { bytes: loaded, header } = await syncCall.load(other, otherParam);
  const bytes = isStoredFile(loaded) ? await loaded.read() : loaded;
  requireReadableHeader(bytes, header, null, otherParam);
  return bytes;
}

const CompareQuery = Type.Object({ ssimulacra2: SCORE_PARAMETER });
type CompareQuery = Static<typeof CompareQuery>;

const Difference = Type.Object(
  {
    ssim: Type.Number({ description: 'Likeness of the brightness, at most 1; 1 when they are the same.' }),
    ssimulacra2: Type.Optional(
      Type.Number({
        description:
          'With `ssimulacra2`: the score, at most 100 (70 good, 80 very good, 90 hardly told apart).',
      }),
    ),
    changedShare: Type.Number({
      description: 'Share of the pixels of which a channel differs by more than 8 of 255.',
    }),
    maxDifference: Type.Integer({ description: 'Largest difference of a channel, 0 to 255.' }),
    hashDistance: Type.Integer({
      description: `Bits in which the perceptual hashes differ, 0 to 64. Copies of one picture differ in few: GET /api/v1/assets?similarTo finds those within ${DEFAULT_HASH_DISTANCE}, or within distance, at most ${MAX_HASH_DISTANCE}.`,
    }),
    regions: Type.Array(
      Type.Object({ x: Type.Integer(), y: Type.Integer(), width: Type.Integer(), height: Type.Integer() }),
      { description: 'Where changed pixels are; at most 100, the largest first, without overlap.' },
    ),
  },
  { title: 'Difference' },
);

/** Refuses a body of raw bytes before it is read, because it contains only one image. */
function checkPairContentType(request: FastifyRequest): void {
  checkImageContentType(request);
  if (mediaTypeOf(request).startsWith('image/')) throw missingOtherImageError();
}

/** @param others the names of files in the body that are neither `file` nor `other`. */
function missingOtherImageError(others: readonly string[] = []): ApiError {
  const message =
    'The second image is missing: send both as multipart parts (curl: -F file=@one.jpg -F other=@two.jpg), or as JSON with assetId and otherAssetId.';
  const [param, ...more] = others;
  const isMeant = param !== undefined && more.length === 0;
  const corrections: CallCorrection[] = isMeant ? [{ param, rename: 'other', in: 'part' }] : [];
  return invalidParamError('other', message, { missing: ['other'] }, corrections);
}

async function readImagePair(request: FastifyRequest): Promise<ImagePair> {
  const body = request.body as Readable;
  if (mediaTypeOf(request) === 'application/json') {
    request.body = await request.readJson();
    const misplaced = misplacedFieldsRefusal(request.body, Object.keys(CompareQuery.properties), 'query');
    if (misplaced !== undefined) throw misplaced;
    return parseImagePair(request.body);
  }
  using multipart = await Multipart.open(request, body, {
    bodyLimitBytes: MAX_MULTIPART_BYTES,
    fileLimitBytes: MAX_IMAGE_BYTES,
    further: { remedy: 'name the second one "other"', keeps: (name) => name === 'other', needs: 'other' },
  });
  const file = await readFilePart(multipart.file);
  const [other, second] = await multipart.additionalFiles();
  if (other === undefined) throw missingOtherImageError(multipart.otherFileNames);
  if (second !== undefined) throw invalidParamError('other', 'other is given more than once: send it once.');
  const fields = await multipart.fields();
  refuseUndeclaredFields(Object.keys(fields), fields, PAIR_SCHEMA);
  return { one: { kind: 'bytes', ...file }, other: { kind: 'bytes', ...other }, otherParam: 'other' };
}

function parseImagePair(body: unknown): ImagePair {
  if (!isJsonObject(body))
    throw invalidParamError('body', 'The body must be a JSON object with two references.');
  const { assetId, url, otherAssetId, otherUrl, ...others } = body;
  refuseUndeclaredFields(Object.keys(others), body, PAIR_SCHEMA);
  const one =
    parseImageSource({ assetId, url }, FIRST_IMAGE_NAMES) ?? throwMissingImageError(FIRST_IMAGE_NAMES);
  const second = { assetId: otherAssetId, url: otherUrl };
  const other = parseImageSource(second, OTHER_IMAGE_NAMES) ?? throwMissingImageError(OTHER_IMAGE_NAMES);
  return { one, other, otherParam: other.kind === 'url' ? OTHER_IMAGE_NAMES.url : OTHER_IMAGE_NAMES.assetId };
}

const FIRST_IMAGE_NAMES = { assetId: 'assetId', url: 'url' };
const OTHER_IMAGE_NAMES = { assetId: 'otherAssetId', url: 'otherUrl' };
const PAIR_SCHEMA = {
  properties: CompareBody.properties,
  elsewhere: 'it takes two images and nothing else',
};

function throwMissingImageError({ assetId, url }: typeof FIRST_IMAGE_NAMES): never {
  throw invalidParamError(url, `An image is missing: give ${url} or ${assetId}.`, {
    missing: [url, assetId],
  });
}

export function comparisonWarnings(result: Pick<CompareResult, 'comparesFirstFrames'>): CallWarning[] {
  return result.comparesFirstFrames ? [{ code: 'first_frame_compared' }] : [];
}
