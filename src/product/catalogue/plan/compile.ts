import type { TObject } from '@sinclair/typebox';
import { argumentsSchema } from '../../../../workers/image/operations/arguments.ts';
import { findOperation, layersOf, OPERATIONS } from '../../../../workers/image/operations/index.ts';
import type { OperationStep } from '../../../../workers/protocol.ts';
import {
  type ApiError,
  correctionsAtSentFields,
  invalidParamError,
  type SentField,
  type SentFieldFinder,
} from '../../../platform/http/errors/errors.ts';
import { unknownWordError } from '../../../platform/http/errors/violations.ts';
import { hintFirst } from '../../../platform/ids/nearest.ts';
import { withoutAbsentFields } from '../../../platform/values/present.ts';
import { chooseModel, type Model, type ModelsFile, modelParametersSchema } from '../../models/models.ts';
import { findSchemaProblem, findSmallestAnswerProblem } from '../../models/schema-bounds.ts';
import { checkOpParameters, findFirstViolation, parameterError } from '../checks/check.ts';
import { OPS } from '../index.ts';
import type { AiOp, GivenParameters, Op, PassFragment } from '../op.ts';
import { promptField as promptSchema } from '../parameters.ts';
import { requireOp } from '../usual-words.ts';
import {
  type AiStep,
  type CompiledPass,
  type CompiledSegment,
  type CompiledStep,
  type DeterministicStep,
  mergePass,
  splitIntoSegments,
} from './pass.ts';
import { type PresetStep, type RequestedStep, refuseFields, savedSteps } from './step.ts';

/**
 * Compiles a list of steps and divides it into segments. Every step is checked against the catalogue.
 * @throws ApiError invalid_param on the step, field or parameter at fault.
 */
export function compileSteps(steps: readonly RequestedStep[], models: ModelsFile): CompiledSegment[] {
  const compiled = steps.map((step, index) => compileStep(step, index, models));
  refuseMisplacedSteps(compiled);
  return splitIntoSegments(compiled);
}

/** Why a synchronous call cannot run a step: the step reads a second picture, and the call contains none. */
const READS_SECOND_ASSET = 'reads a second asset';

/** The reason why a list of steps is not one pass. `does` completes the sentence "has a step that …". */
export interface SinglePassObstacle {
  does: 'runs a model' | 'answers JSON' | typeof READS_SECOND_ASSET;
  step: CompiledStep;
}

/**
 * Compiles the steps of a synchronous call to one pass over one image.
 * @param refusalOf makes the error for the first step that cannot be part of such a pass.
 * @param layers the ids of the second pictures that the call contains.
 * @throws the errors of `compileSteps`, or the refusal.
 */
export function compilePass(
  steps: readonly RequestedStep[],
  models: ModelsFile,
  refusalOf: (obstacle: SinglePassObstacle) => Error,
  layers: readonly string[] = [],
): CompiledPass {
  let pass = mergePass([]);
  for (const segment of compileSteps(steps, models)) {
    if (segment.runs === 'model') throw refusalOf({ does: 'runs a model', step: segment });
    for (const step of segment.steps) {
      const { reads, compareWith, steps: operations } = step.fragment;
      if (reads !== undefined || compareWith !== undefined) throw refusalOf({ does: 'answers JSON', step });
      if (layersOf(operations).some(({ assetId }) => !layers.includes(assetId)))
        throw refusalOf({ does: READS_SECOND_ASSET, step });
    }
    pass = segment;
  }
  return pass;
}

/**
 * Compiles a preset for a synchronous call, to one pass.
 * @param param the parameter of the call that contains the preset's name.
 * @param job the body of a job that runs the preset. An error suggests it if the preset cannot be one pass.
 * @throws ApiError invalid_param on `param`.
 */
export function compilePreset(
  steps: readonly PresetStep[],
  param: string,
  models: ModelsFile,
  job: object,
): CompiledPass {
  return compilePass(savedSteps(steps, param), models, ({ does }) => {
    const message = `The preset has a step that ${does}, so it runs only as a job: send it to POST /api/v1/jobs`;
    if (does !== READS_SECOND_ASSET) return invalidParamError(param, `${message}.`, { instead: [{ job }] });
    return invalidParamError(param, `${message}, or send its steps as steps of this call.`, {
      instead: [{ steps }, { job }],
    });
  });
}

function compileStep(step: RequestedStep, index: number, models: ModelsFile): CompiledStep {
  const { op: name, operation, findField } = step;
  if (name !== undefined && operation !== undefined)
    throw stepFormError(findField(''), 'both op and operation');
  if (operation !== undefined) return compileRegistryStep(step, operation, index);
  if (name === undefined) throw stepFormError(findField(''), 'neither op nor operation');
  const op = requireOp(name, findField('op'), isStepOp, (found, allowed) => {
    const problem = found === undefined ? `There is no op "${name}"` : `${name} cannot be a step`;
    return `${problem}: use one of ${allowed}.`;
  });
  refuseFields(step, ['params'], 'a step with op takes parameters', { findField, ownName: 'parameters' });
  if (op.runs === 'model') return compileAiStep(op, step, index, models);
  refuseFields(step, ['model', 'prompt'], `${op.op} is deterministic and runs no model`, { findField });
  const parameters = checkOpParameters(op, step.parameters, findField);
  return { runs: 'pass', index, op, parameters, fragment: op.compile(parameters), findField };
}

function stepFormError({ name, refuse }: SentField, found: string): ApiError {
  return refuse(`${name} has ${found}: a step is one or the other.`);
}

function isStepOp(op: Op) {
  return op.runs === 'model' || op.runs === 'pass';
}

function compileRegistryStep(step: RequestedStep, operation: string, index: number): DeterministicStep {
  const { params = {}, findField } = step;
  refuseFields(step, ['parameters'], 'a step with operation takes params alone', {
    findField,
    ownName: 'params',
  });
  refuseFields(step, ['model', 'prompt'], 'a step with operation takes params alone', { findField });
  const fragment = compileOperation(operation, params, findField);
  return { runs: 'pass', index, parameters: { ...(params as GivenParameters) }, fragment, findField };
}

/**
 * Checks arguments against the registry operation that they belong to, and compiles them.
 * @throws ApiError invalid_param on `operation` if the registry does not have it, with all operations in
 * details.allowed; on `params` for invalid arguments.
 */
function compileOperation(operation: string, params: unknown, findField: SentFieldFinder): PassFragment {
  const entry = findOperation(operation);
  if (entry === undefined) {
    const allowed = Object.keys(OPERATIONS);
    const message = `The registry has no operation ${JSON.stringify(operation)}: it has ${allowed.join(', ')}.`;
    throw unknownWordError(findField('operation'), operation, allowed, (hint) => hintFirst(hint, message));
  }
  const violation = findFirstViolation(entry.parameters, params, operation);
  if (violation !== undefined) {
    const corrections = correctionsAtSentFields(violation.corrections ?? [], (param) =>
      findField(`params.${param}`),
    );
    throw findField('params').refuse(violation.message, violation.details, corrections);
  }
  const checked = params as OperationStep['params'];
  if (entry.kind === 'setting') return { decode: {}, encode: {}, ...entry.settings(checked), steps: [] };
  const refusal = entry.findInvalidArgument(checked);
  if (refusal !== undefined) throw findField('params').refuse(refusal.message, refusal.details);
  return { decode: {}, steps: [{ operation, params: checked }], encode: {} };
}

/**
 * Compiles a step that runs a model: finds its model, its prompt (by default, that of the op) and the JSON Schema of
 * its answer.
 */
function compileAiStep(
  op: AiOp,
  { model: named, prompt, findField, ...sent }: RequestedStep,
  index: number,
  models: ModelsFile,
): AiStep {
  const model = chooseModel(models, named, op.op, findField('model'));
  const parameters = checkOpParameters(op, sent.parameters, findField);
  checkModelParameters(model, parameters, findField);
  checkPrompt(op, prompt, findField('prompt'));
  checkAnswerSchema(model, parameters, findField('parameters.schema'));
  const schema = model.answerSchema ?? (parameters.schema as GivenParameters | undefined) ?? op.defaultSchema;
  return {
    ...{ runs: 'model', index, op, model, parameters, findField },
    ...withoutAbsentFields({ prompt: prompt ?? op.defaultPrompt }),
    ...(op.produces === 'json' && schema !== undefined && { schema }),
  };
}

/**
 * Refuses parameters that are outside the model's limits. A null parameter is not checked, because it is not sent to
 * the model.
 */
function checkModelParameters(model: Model, parameters: GivenParameters, findField: SentFieldFinder): void {
  const sent = withoutAbsentFields(parameters);
  const violation = findFirstViolation(modelParametersSchema(model), sent, model.id);
  if (violation === undefined) return;
  const described = model.parameters.find(({ key }) => key === violation.key)?.description;
  const hint = described === undefined ? '' : ` ${described}`;
  const message = `${violation.message}${hint} The model ${model.id} takes no other.`;
  throw parameterError({ ...violation, message }, findField);
}

/**
 * The schema of a prompt for an op that declares none. A prompt is accepted anyway, because some models of the op use
 * one.
 */
const DEFAULT_PROMPT_SCHEMA = promptSchema('What to heed.');

/**
 * The schema of the prompt of each AI op. Each schema is made only once, because its compiled validator is cached by
 * schema object.
 */
const PROMPT_SCHEMAS = Object.fromEntries(
  Object.values<Op>(OPS).map((op) => [
    op.op,
    argumentsSchema({ prompt: op.fields.prompt ?? DEFAULT_PROMPT_SCHEMA }),
  ]),
) as Record<AiOp['op'], TObject>;

function checkPrompt(op: AiOp, prompt: string | undefined, { name, refuse }: SentField): void {
  if (prompt === undefined && !op.requiresPrompt) return;
  const violation = findFirstViolation(PROMPT_SCHEMAS[op.op], withoutAbsentFields({ prompt }), op.op);
  if (violation !== undefined) throw refuse(violation.message, violation.details);
  if (prompt?.trim() === '') throw refuse(`${name} is blank: describe what the model should make.`);
}

function checkAnswerSchema(model: Model, { schema }: GivenParameters, { refuse }: SentField): void {
  if (schema === undefined) return;
  if (model.answerSchema !== undefined) {
    const message = `${model.id} answers in its own form: leave the schema out, or run another model.`;
    throw refuse(message, { allowed: [] });
  }
  const problem = findSchemaProblem(schema) ?? findSmallestAnswerProblem(schema as GivenParameters);
  if (problem !== undefined) throw refuse(`The schema ${problem}.`);
}

/**
 * Refuses steps in a wrong position: a step with a JSON answer before the end, and a step without an input image in a
 * list of several steps.
 */
function refuseMisplacedSteps(steps: readonly CompiledStep[]): void {
  for (const { op, index, findField } of steps) {
    if (op?.produces === 'json' && index < steps.length - 1)
      throw findField('op').refuse(`${op.op} answers JSON, which no further step can use: make it the last.`);
    if (op?.requiresAssets === false && steps.length > 1) {
      const message = `${op.op} makes its picture from a prompt alone, so it can only be a job of its own: run it, then send its resultAssetId in assetIds of a second job.`;
      throw findField('op').refuse(message);
    }
  }
}
