import { present } from '../../platform/values/present.ts';
import { isSandboxModel, type Model, type Models } from './models.ts';
import { imageModelPrice } from './prices.ts';
import type { ModelDTO } from './schema.ts';

/** A model as the API shows it. */
export function modelOf(models: Models, model: Model): ModelDTO {
  const { priceRange, providerPrice, providerPriceRange } = imageModelPrice(models, model);
  const { id, name, description, series, mode, categories, parameters } = model;
  return {
    ...{ id, name, description, series, mode, categories },
    image_price_range: priceRange,
    provider_price: providerPrice,
    ...present({
      provider_price_range: providerPriceRange,
      prompt_price: model.promptPrice,
      completion_price: model.completionPrice,
      context_length: model.contextLength,
    }),
    created: model.created,
    image_required: model.imageRequired,
    input_modalities: model.inputModalities,
    output_modalities: model.outputModalities,
    ...present({ max_input_edge: model.maxInputEdge }),
    max_input_images: model.maxInputImages,
    parameters,
    support_structured_output: model.structuredOutput,
    supported_parameters: parameters.map(({ key }) => key),
    ...(isSandboxModel(id) && { sandbox: true }),
  };
}
