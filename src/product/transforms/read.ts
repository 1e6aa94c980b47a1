import { type Static, type TSchema, Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ImageObject, ImageTags, PALETTE_SIZE_SCHEMA } from '../../imaging/images/image-object.ts';
import type { Readers } from '../../imaging/readers/readers.ts';
import { checkImageContentType } from '../../platform/http/bodies/image-body.ts';
import { envelopeSchemaOf, successEnvelope } from '../../platform/http/envelope.ts';
import { textField } from '../../platform/http/fields.ts';
import { addWarnings } from '../../platform/http/hooks/warnings.ts';
import { checkOpParameters } from '../catalogue/checks/check.ts';
import { parseOpParameters } from '../catalogue/checks/spelling.ts';
import { OPS } from '../catalogue/index.ts';
import { parseBodyFields, readCallInput } from './input.ts';
import { type MeteredCallOptions, SyncCall, workerMs } from './metered-call.ts';
import { ImageReferenceBody } from './transform-schema.ts';

/** Serves POST /images/metadata, a synchronous call that is free of charge: the facts and tags of an image. */
export async function metadataRoutes(app: FastifyInstance, options: MeteredCallOptions): Promise<void> {
  app.post<{ Querystring: MetadataQuery }>(
    '/images/metadata',
    {
      config: {
        ...{ slot: 'calls', body: 'stream', reference: ImageReferenceBody, check: checkImageContentType },
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
      const syncCall = new SyncCall(request, reply, options);
      syncCall.reserveQueuePlace();
      const image = await syncCall.load(await readCallInput(request, 'image'));
      const { palette } = request.query;
      const call = { ...image, ...syncCall.terms, palette };
      const described = await syncCall.finish(options.imageWorkers.describe(call));
      syncCall.recordRun('read_metadata', described);
      const { image: facts, metadata, timings } = described;
      return successEnvelope('Image read.', { image: facts, metadata, durationMs: workerMs(timings) });
    },
  );
}

const MetadataQuery = Type.Object({ palette: Type.Optional(PALETTE_SIZE_SCHEMA) });
type MetadataQuery = Static<typeof MetadataQuery>;

const Metadata = Type.Object(
  {
    image: ImageObject,
    metadata: ImageTags,
    durationMs: Type.Integer({ description: 'Milliseconds that the worker took.' }),
  },
  { title: 'ImageMetadata' },
);

interface ReadRoutesOptions extends MeteredCallOptions {
  readers: Readers;
}

/** Serves POST /images/read-text and /images/read-codes, which are synchronous calls. */
export async function readingRoutes(app: FastifyInstance, options: ReadRoutesOptions): Promise<void> {
  addRoute(OPS.read_text, 'Read the text of an image', TextOfImage);
  addRoute(OPS.read_codes, 'Read the bar and QR codes of an image', CodesOfImage);

  function addRoute(op: ReadOp, summary: string, answer: TSchema): void {
    const readsOf = ({ query }: Pick<FastifyRequest, 'query'>) => {
      const parameters = parseOpParameters(op, query as Record<string, string | string[] | undefined>);
      return op.compile(checkOpParameters(op, parameters)).reads;
    };
    app.post(
      op.syncEndpoint ?? '',
      {
        config: {
          ...{ slot: 'calls', body: 'stream', reference: ImageReferenceBody },
          check(request) {
            checkImageContentType(request);
            readsOf(request);
          },
          recheck(_request, call) {
            readsOf(call);
            parseBodyFields(call, 'image');
          },
        },
        schema: {
          summary,
          description: `${op.description} Takes raw bytes, a multipart \`file\` part, or a JSON reference with \`url\` or \`assetId\`. A success counts one run.`,
          querystring: Type.Object(op.parameters.properties, { additionalProperties: true }),
          response: { 200: envelopeSchemaOf(answer) },
        },
      },
      async (request, reply) => {
        const reading = readsOf(request);
        if (reading === undefined) throw new Error(`${op.op} reads nothing.`);
        const syncCall = new SyncCall(request, reply, options);
        syncCall.reserveQueuePlace();
        const input = await readCallInput(request, 'image');
        const done = await syncCall.run(op.op, async () => {
          const image = await syncCall.load(input);
          return syncCall.finish(options.readers.read({ ...image, ...syncCall.terms, reading }));
        });
        addWarnings(reply, done.warnings);
        return successEnvelope('Image read.', done.output);
      },
    );
  }
}

type ReadOp = (typeof OPS)['read_text' | 'read_codes'];

const SIZE_FIELDS = {
  width: Type.Integer({
    description:
      'Of the image as displayed, or of a vector drawing as drawn to be read. Boxes are in its pixels.',
  }),
  height: Type.Integer(),
};

const BOX_FIELDS = { x: Type.Integer(), y: Type.Integer(), width: Type.Integer(), height: Type.Integer() };

const TextOfImage = Type.Object(
  {
    ...SIZE_FIELDS,
    text: textField('All of it, in reading order; empty if there is none.'),
    confidence: Type.Number({ description: '0 to 1: the mean of the words, by their characters.' }),
    lines: Type.Array(
      Type.Object({
        text: Type.String(),
        confidence: Type.Number({
          description:
            '0 to 1: that of its least certain word. A word that is read differently at a second scale has at most 0.5.',
        }),
        ...BOX_FIELDS,
      }),
    ),
  },
  { title: 'TextOfImage' },
);

const CodesOfImage = Type.Object(
  {
    ...SIZE_FIELDS,
    codes: Type.Array(
      Type.Object({
        format: textField('Such as QRCode, DataMatrix, EAN13 or Code128.'),
        text: textField('The number of a UPC-A or UPC-E code has the 13 digits of EAN-13.'),
        ...BOX_FIELDS,
      }),
      { description: 'From top to bottom, at most 100.' },
    ),
  },
  { title: 'CodesOfImage' },
);
