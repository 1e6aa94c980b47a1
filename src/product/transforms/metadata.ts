import { type Static, Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { ImageObject, ImageTags, PALETTE_SIZE } from '../../imaging/images/image-object.ts';
import { checkImageBody } from '../../platform/http/bodies/image-body.ts';
import { envelopeSchemaOf, successEnvelope } from '../../platform/http/envelope.ts';
import { parseBodyFields, readCallInput } from './input.ts';
import { beginSyncCall, loadCallImage, type MeteredCallOptions, workerMs } from './metered-call.ts';
import { ImageReferenceBody } from './transform-schema.ts';

/** Serves POST /images/metadata: the facts and tags of an image, while the caller waits. It is free of charge. */
export async function metadataRoutes(
  app: FastifyInstance,
  options: Omit<MeteredCallOptions, 'allowance'>,
): Promise<void> {
  const { imageWorkers } = options;

  app.post<{ Querystring: MetadataQuery }>(
    '/images/metadata',
    {
      config: {
        ...{ slot: 'calls', body: 'stream', reference: ImageReferenceBody, check: checkImageBody },
        recheck: (_request, call) => parseBodyFields(call, 'image'),
      },
      schema: {
        summary: 'Read dimensions and metadata',
        description:
          'Takes raw bytes, a multipart `file` part, or a JSON reference with `url` or `assetId`. Free.',
        querystring: MetadataQuery,
        response: { 200: envelopeSchemaOf(Metadata) },
      },
    },
    async (request, reply) => {
      const underWay = beginSyncCall(request, reply, options);
      const terms = underWay.expectedBy(imageWorkers);
      const input = await readCallInput(request, 'image');
      const image = await loadCallImage(input, options, terms);
      const fetchMs = underWay.admittedMs();
      const bytesIn = image.bytes.length;
      const { palette } = request.query;
      const described = await underWay.finish(imageWorkers.describe({ ...image, ...terms, palette }));
      underWay.ran('read_metadata', { ...described, fetchMs, bytesIn });
      const { image: facts, metadata, timings } = described;
      return successEnvelope('Image read.', { image: facts, metadata, durationMs: workerMs(timings) });
    },
  );
}

const MetadataQuery = Type.Object({ palette: Type.Optional(PALETTE_SIZE) });
type MetadataQuery = Static<typeof MetadataQuery>;

const Metadata = Type.Object(
  {
    image: ImageObject,
    metadata: ImageTags,
    durationMs: Type.Integer({ description: 'Time in the worker.' }),
  },
  { title: 'ImageMetadata' },
);
