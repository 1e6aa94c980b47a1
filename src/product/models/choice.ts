import type { SentField } from '../../platform/http/errors/sent-field.ts';
import { meantWord } from '../../platform/http/errors/violations.ts';
import { present } from '../../platform/values/present.ts';
import { defaultModelFor, type Model, type Models, modelsFor } from './models.ts';

/**
 * Chooses the model of a job or a step: the named one, else the op's default.
 * @param named the name that was sent, if any.
 * @param category the category of models that the op needs.
 * @param field the field with the name, such as `model` or `steps[1].model`.
 * @throws ApiError invalid_param with the names of suitable models in details.allowed.
 */
export function chosenModel(
  models: Models,
  named: string | undefined,
  category: string,
  field: SentField,
): Model {
  const fitting = modelsFor(models, category);
  const model =
    named === undefined ? defaultModelFor(models, category) : fitting.find(({ id }) => id === named);
  if (model !== undefined) return model;
  const allowed = fitting.map(({ id }) => id);
  const verb = category.replaceAll('_', ' ');
  const problem =
    named === undefined
      ? `${field.name} is missing, and no model is offered by default to ${verb}`
      : `${field.name} is ${JSON.stringify(named)}, which is not offered to ${verb}`;
  const fix =
    allowed.length === 0
      ? 'the operator of this service has configured no provider for it'
      : `use one of ${allowed.join(', ')}`;
  const { hint, mends } = meantWord(named ?? '', allowed, field.path);
  throw field.refuse(`${problem}: ${fix}.${hint}`, { ...present({ received: named }), allowed }, mends);
}
