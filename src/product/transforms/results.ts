import { type Static, Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import type { PictureFile } from '../../../workers/protocol.ts';
import { ApiError } from '../../platform/http/errors/errors.ts';
import { declarePreflightRoute, openToEveryOrigin } from '../../platform/http/hooks/cors.ts';
import type { LinkSigner } from '../../platform/http/signatures.ts';
import { randomText } from '../../platform/ids/ids.ts';
import type { ObjectStore } from '../../platform/stores/objects/port.ts';
import { HOUR_MS } from '../../platform/values/units.ts';

/** How long a link of `response=url` is valid, in seconds. */
const RESULT_LINK_LIFE_SECONDS = 300;
const RESULTS_PREFIX = 'results/';
/** How long a result is stored, in milliseconds. It is far longer than the link is valid. */
const RESULT_STORAGE_MS = HOUR_MS;
const SWEEP_BATCH_SIZE = 100;

export const ResultLink = Type.Object(
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
export type ResultLink = Static<typeof ResultLink>;

/**
 * The response data for a stored result.
 * @param url the signed link to the result.
 */
export function resultLinkBody(url: string, { data, contentType, width, height }: PictureFile): ResultLink {
  return { url, contentType, bytes: data.length, expiresInSeconds: RESULT_LINK_LIFE_SECONDS, width, height };
}

interface TemporaryResultsOptions {
  objects: ObjectStore;
  signatures: LinkSigner;
  publicUrl: () => string;
  now: () => Date;
}

/**
 * The results of `response=url`. They are temporary objects; a signed link reads one for 5 minutes without a
 * credential.
 */
export class TemporaryResults {
  readonly #options: TemporaryResultsOptions;

  constructor(options: TemporaryResultsOptions) {
    this.#options = options;
  }

  /** Stores a result and returns a signed link to it. */
  async store({ data, contentType }: { data: Uint8Array; contentType: string }): Promise<string> {
    const name = randomText(24);
    await this.#options.objects.put(RESULTS_PREFIX + name, data, contentType);
    const expiresAt = new Date(this.#options.now().getTime() + RESULT_LINK_LIFE_SECONDS * 1000);
    return `${this.#options.publicUrl()}/results/${name}?${this.#options.signatures.sign('result', name, expiresAt)}`;
  }

  /** Deletes a batch of expired results, and returns their number. */
  async sweep(): Promise<number> {
    const beforeMs = this.#options.now().getTime() - RESULT_STORAGE_MS;
    const keys = await this.#options.objects.listOlder(RESULTS_PREFIX, beforeMs, SWEEP_BATCH_SIZE);
    await Promise.all(keys.map((key) => this.#options.objects.delete(key)));
    return keys.length;
  }
}

/** Serves GET /results/{name}, to which signed links of results lead. */
export async function resultRoutes(
  app: FastifyInstance,
  { objects, signatures, now }: TemporaryResultsOptions,
): Promise<void> {
  openToEveryOrigin(app, () => true);
  declarePreflightRoute(app, '/results/:name', { methods: ['GET', 'HEAD'], isSigned: () => true });

  app.get<{ Params: { name: string }; Querystring: { expires?: string; signature?: string } }>(
    '/results/:name',
    {
      config: { responseType: 'image/*' },
      schema: {
        summary: 'Read a result by its signed link',
        description: 'The link is that of a transform with response=url.',
        params: Type.Object({ name: Type.String() }),
        querystring: Type.Object({
          expires: Type.Optional(Type.String()),
          signature: Type.Optional(Type.String()),
        }),
      },
    },
    async (request, reply) => {
      const { name } = request.params;
      signatures.verify('result', name, request.query, now());
      const object = await objects.get(RESULTS_PREFIX + name);
      if (object === null) throw new ApiError('not_found', 'This result is gone: make the call again.');
      return reply
        .type(object.contentType)
        .header('content-length', String(object.sizeBytes))
        .header('cache-control', 'private, max-age=300, immutable')
        .header('x-content-type-options', 'nosniff')
        .send(object.body);
    },
  );
}
