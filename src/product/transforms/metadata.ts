import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { ImageObject, ImageTags } from '../../imaging/pixels/image-object.ts';
import { checkImageBody } from '../../platform/http/bodies/image-body.ts';
import { envelopeOf, success } from '../../platform/http/envelope.ts';
import { readInput } from './input.ts';
import { bodyBytesOf, bring, limitsOf, type MeteredCallOptions } from './metered-call.ts';
import { runOf, sendTiming, workerMs } from './timing.ts';
import { ImageReference } from './transform-schema.ts';

/** POST /images/metadata: returns the facts and tags of an image, while the caller waits. It is free. */
export async function metadataRoutes(
  app: FastifyInstance,
  options: Omit<MeteredCallOptions, 'allowance'>,
): Promise<void> {
  const { gate, pixels } = options;

  app.post(
    '/images/metadata',
    {
      config: { slot: 'calls', body: 'stream', reference: ImageReference, check: checkImageBody },
      schema: {
        summary: 'Read dimensions and metadata',
        description:
          'Takes raw bytes, a multipart `file` part, or a JSON reference with `url` or `assetId`. Free.',
        response: { 200: envelopeOf(Metadata) },
      },
    },
    async (request, reply) => {
      const caller = gate.callerOf(request);
      const limits = limitsOf(reply, options.timeoutMs);
      const admitMs = reply.elapsedTime;
      pixels.refuseExcess(caller.accountId, bodyBytesOf(request));
      const input = await readInput(request, 'image');
      const image = await bring(input, caller, options, limits);
      const fetchMs = reply.elapsedTime - admitMs;
      const bytesIn = image.bytes.length;
      const work = pixels.describe({ ...image, accountId: caller.accountId, ...limits });
      gate.keepSlotUntil(request, work.ended);
      const described = await work.result;
      sendTiming(reply, { admitMs, fetchMs, queueMs: described.queueMs, ...described.timings });
      options.meters.ops.ran(runOf('read_metadata', { admitMs, fetchMs, ...described, bytesIn }));
      const { image: facts, metadata, timings } = described;
      return success('Image read.', { image: facts, metadata, durationMs: workerMs(timings) });
    },
  );
}

const Metadata = Type.Object(
  {
    image: ImageObject,
    metadata: ImageTags,
    durationMs: Type.Integer({ description: 'Time in the worker.' }),
  },
  { title: 'ImageMetadata' },
);
