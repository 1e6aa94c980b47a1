import { type Static, Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { envelopeSchemaOf, successEnvelope } from '../../platform/http/envelope.ts';
import type { ProductSlice } from '../../platform/http/slice.ts';
import { withoutAbsentFields } from '../../platform/values/present.ts';
import { isSandboxModel, type Model, type ModelMode, type ModelsFile, modelsOfMode } from './models.ts';
import { creditsSpanOf, imageModelPrice } from './prices.ts';
import { ModelData } from './schema.ts';

const ModelsQuery = Type.Object({
  mode: Type.Optional(
    Type.Unsafe<ModelMode>({
      type: 'string',
      enum: ['ai_image', 'analyze'] satisfies ModelMode[],
      description: 'What the models make: images (the default), or JSON about an image.',
    }),
  ),
});

/** Opens the models slice, which is the route GET /ai-models. */
export function openModels({ models }: { models: ModelsFile }): ProductSlice {
  return { routes: async (app) => modelRoutes(app, models) };
}

function modelRoutes(app: FastifyInstance, models: ModelsFile): void {
  app.get<{ Querystring: Static<typeof ModelsQuery> }>(
    '/ai-models',
    {
      schema: {
        summary: 'List the models of a mode',
        description: 'Those that this service can run, with their parameters and prices.',
        querystring: ModelsQuery,
        response: { 200: envelopeSchemaOf(Type.Array(ModelData)) },
      },
    },
    async (request) => {
      const listed = modelsOfMode(models, request.query.mode ?? 'ai_image');
      const data = listed.map((model) => modelDataOf(models, model));
      return successEnvelope(`${listed.length} models.`, data);
    },
  );
}

export function modelDataOf(models: ModelsFile, model: Model): ModelData {
  const { priceRange, providerPrice, providerPriceRange } = imageModelPrice(models, model);
  const { id, name, description, series, mode, categories, parameters } = model;
  return {
    ...{ id, name, description, series, mode, categories },
    image_price_range: priceRange,
    provider_price: providerPrice,
    credits_per_item: creditsSpanOf(models, model),
    ...withoutAbsentFields({
      provider_price_range: providerPriceRange,
      prompt_price: model.promptPrice,
      completion_price: model.completionPrice,
      context_length: model.contextLength,
    }),
    created: model.created,
    image_required: model.imageRequired,
    input_modalities: model.inputModalities,
    output_modalities: model.outputModalities,
    ...withoutAbsentFields({ max_input_edge: model.maxInputEdge }),
    max_input_images: model.maxInputImages,
    parameters,
    support_structured_output: model.structuredOutput,
    supported_parameters: parameters.map(({ key }) => key),
    ...(isSandboxModel(id) && { sandbox: true }),
  };
}
