import { type Static, Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { envelopeOf, success } from '../../platform/http/envelope.ts';
import { type ModelMode, type Models, modelsOf } from './models.ts';
import { modelOf } from './responses.ts';
import { ModelDTO } from './schema.ts';

const ModelsQuery = Type.Object({
  mode: Type.Optional(
    Type.Unsafe<ModelMode>({
      type: 'string',
      enum: ['ai_image', 'analyze'] satisfies ModelMode[],
      description: 'What the models make: images (the default), or JSON about an image.',
    }),
  ),
});

/** GET /ai-models: the models that AI ops can run on. */
export async function modelRoutes(app: FastifyInstance, { models }: { models: Models }): Promise<void> {
  app.get<{ Querystring: Static<typeof ModelsQuery> }>(
    '/ai-models',
    {
      schema: {
        summary: 'List the models of a mode',
        description: 'Those that this service can run, with their parameters and prices.',
        querystring: ModelsQuery,
        response: { 200: envelopeOf(Type.Array(ModelDTO)) },
      },
    },
    async (request) => {
      const listed = modelsOf(models, request.query.mode ?? 'ai_image');
      return success(
        `${listed.length} models.`,
        listed.map((model) => modelOf(models, model)),
      );
    },
  );
}
