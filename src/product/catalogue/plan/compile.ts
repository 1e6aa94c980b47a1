import type { TObject } from '@sinclair/typebox';
import { layersOf } from '../../../../workers/image/operations/index.ts';
import { argumentsSchema } from '../../../../workers/image/operations/parameter.ts';
import {
  invalidParamError,
  mendsAtSentFields,
  type SentField,
} from '../../../platform/http/errors/errors.ts';
import { withoutAbsentFields } from '../../../platform/values/present.ts';
import { chooseModel, type Model, type ModelsFile, modelParametersSchema } from '../../models/models.ts';
import { findSchemaProblem, findSmallestAnswerProblem } from '../../models/schema-bounds.ts';
import { checkOpParameters, findFirstViolation } from '../checks/check.ts';
import { OPS } from '../index.ts';
import type { AiOp, GivenParameters, Op } from '../op.ts';
import { promptField as promptSchema } from '../parameter.ts';
import { compileRegistryStep } from '../registry.ts';
import { requireOp } from '../usual-words.ts';
import {
  type AiStep,
  type CompiledPass,
  type CompiledSegment,
  type CompiledStep,
  type DeterministicStep,
  fieldOfArgument,
  mergePass,
  segmentsOf,
} from './pass.ts';
import { type RequestedStep, refuseFields, type SentFieldFinder, savedSteps } from './sent-step.ts';
import type { PresetStep, PromptSubject } from './step.ts';
import { checkSubjectsAreUsed, parseSubjects, subjectReferencesOf } from './subjects.ts';

/**
 * Checks a list of steps completely and compiles it, so that it can run.
 * @throws ApiError invalid_param on the step, field or parameter at fault.
 */
export function compileSteps(steps: readonly RequestedStep[], models: ModelsFile): CompiledSegment[] {
  const compiled = steps.map((step, index) => compileStep(step, index, models));
  refuseMisplaced(compiled);
  return segmentsOf(compiled);
}

/** What a step does whose second picture the call does not bring. */
const READS_SECOND = 'reads a second asset';

/** Why a list is not one pass. `does` completes the sentence "has a step that …". */
export interface SinglePassObstacle {
  does: 'runs a model' | 'answers JSON' | typeof READS_SECOND;
  step: CompiledStep;
}

/**
 * Compiles the list of a call that waits: one pass on one image, which makes one.
 * @param refusal of the first step that cannot be in it.
 * @param layers the ids of the second pictures that the call brings.
 * @throws ApiError as `compile`, or the refusal.
 */
export function compilePass(
  steps: readonly RequestedStep[],
  models: ModelsFile,
  refusal: (obstacle: SinglePassObstacle) => Error,
  layers: readonly string[] = [],
): CompiledPass {
  let pass = mergePass([]);
  for (const segment of compileSteps(steps, models)) {
    if (segment.runs === 'model') throw refusal({ does: 'runs a model', step: segment });
    for (const step of segment.steps) {
      const { reads, compareWith, steps: operations } = step.fragment;
      if (reads !== undefined || compareWith !== undefined) throw refusal({ does: 'answers JSON', step });
      if (layersOf(operations).some(({ assetId }) => !layers.includes(assetId)))
        throw refusal({ does: READS_SECOND, step });
    }
    pass = segment;
  }
  return pass;
}

/**
 * The one pass of a preset that runs while its caller waits.
 * @param param names the preset in the call.
 * @throws ApiError invalid_param on `param`.
 */
export function compilePreset(steps: readonly PresetStep[], param: string, models: ModelsFile): CompiledPass {
  return compilePass(savedSteps(steps, param), models, ({ does }) => {
    const message = `The preset has a step that ${does}, so it runs only as a job: send it to POST /api/v1/jobs`;
    if (does !== READS_SECOND) return invalidParamError(param, `${message}.`);
    return invalidParamError(param, `${message}, or send its steps as steps of this call.`, {
      instead: [{ steps }],
    });
  });
}

function compileStep(step: RequestedStep, index: number, models: ModelsFile): CompiledStep {
  const { at } = step;
  if ((step.op === undefined) === (step.operation === undefined)) {
    const found = step.op === undefined ? 'neither op nor operation' : 'both op and operation';
    throw at('').refuse(`${at('').name} has ${found}: a step is one or the other.`);
  }
  if (step.op === undefined) {
    refuseFields(step, ['parameters'], 'a step with operation takes params alone', { at, ownName: 'params' });
    refuseFields(step, ['model', 'prompt'], 'a step with operation takes params alone', { at });
    const fragment = compileRegistryStep(step.operation, step.params, at);
    return { runs: 'pass', index, parameters: { ...(step.params as GivenParameters) }, fragment, at };
  }
  const op = requireOp(step.op, at('op'), isStepOp, (found, allowed) => {
    const problem = found === undefined ? `There is no op "${step.op}"` : `${step.op} cannot be a step`;
    return `${problem}: use one of ${allowed}.`;
  });
  refuseFields(step, ['params'], 'a step with op takes parameters', { at, ownName: 'parameters' });
  if (op.runs === 'model') return aiStep(op, step, index, models);
  refuseFields(step, ['model', 'prompt'], `${op.op} is deterministic and runs no model`, { at });
  const parameters = checkOpParameters(op, step.parameters, at);
  return { runs: 'pass', index, op, parameters, fragment: op.compile(parameters), at };
}

function isStepOp(op: Op) {
  return op.runs === 'model' || op.runs === 'pass';
}

/** Compiles an AI step: with its model, its prompt or the op's default prompt, and the JSON Schema of its answer. */
function aiStep(
  op: AiOp,
  { model: named, prompt, at, ...sent }: RequestedStep,
  index: number,
  models: ModelsFile,
): AiStep {
  const model = chooseModel(models, named, op.op, at('model'));
  const parameters = checkOpParameters(op, sent.parameters, at);
  checkBounds(model, parameters, at);
  checkPrompt(op, prompt, at('prompt'));
  checkAnswerSchema(model, parameters, at('parameters.schema'));
  const schema = model.answerSchema ?? (parameters.schema as GivenParameters | undefined) ?? op.defaultSchema;
  return {
    ...{ runs: 'model', index, op, model: model.id, parameters, at },
    ...withoutAbsentFields({ prompt: prompt ?? op.defaultPrompt }),
    ...(op.produces === 'json' && schema !== undefined && { schema }),
  };
}

/** Refuses parameters that the model would refuse. A parameter that is null is not sent to the model. */
function checkBounds(model: Model, parameters: GivenParameters, at: SentFieldFinder): void {
  const violation = findFirstViolation(
    modelParametersSchema(model),
    withoutAbsentFields(parameters),
    model.id,
  );
  if (violation === undefined) return;
  const { key, message, details, mends = [] } = violation;
  const described = model.parameters.find((parameter) => parameter.key === key)?.description;
  const hint = described === undefined ? '' : ` ${described}`;
  const problem = `${message}${hint} The model ${model.id} takes no other.`;
  throw at(`parameters.${key}`).refuse(
    problem,
    details,
    mendsAtSentFields(mends, (param) => at(`parameters.${param}`)),
  );
}

/** The prompt of an op without a default prompt. It is accepted because some models of the op use it. */
const ANY_PROMPT = promptSchema('What to heed.');

/** The schema of the prompt of each AI op. Each is made once, because the validator of a schema is kept. */
const PROMPTS = Object.fromEntries(
  Object.values<Op>(OPS).map((op) => [op.op, argumentsSchema({ prompt: op.fields.prompt ?? ANY_PROMPT })]),
) as Record<AiOp['op'], TObject>;

function checkPrompt(op: AiOp, prompt: string | undefined, { name, refuse }: SentField): void {
  if (prompt === undefined && !op.requiresPrompt) return;
  const violation = findFirstViolation(PROMPTS[op.op], withoutAbsentFields({ prompt }), op.op);
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

/** An asset that the work needs besides its items, with its role and the parameter that an error names. */
export interface NamedAsset {
  assetId: string;
  param: string;
  role: 'second' | 'reference';
}

/** A JSON Schema that was sent for the answer of a model. A thread compiles it later. */
export interface RequestedAnswerSchema {
  schema: GivenParameters;
  /** The parameter that a refusal of it names. */
  param: string;
}

/** A list of steps with its subjects. It is valid except for rules that need a store or a thread. */
export interface CheckedSteps {
  segments: CompiledSegment[];
  subjects: PromptSubject[];
  /** The assets that it names. Their existence is still to be checked. */
  named: NamedAsset[];
  /** The answer schemas of the request. The caller still has to compile them. */
  schemas: RequestedAnswerSchema[];
}

/**
 * Compiles a list of steps and checks its subjects, but not whether their assets exist.
 * @param param the name of the subjects, for example `versions[2].subjects`.
 * @throws ApiError invalid_param on the step, field or parameter at fault, or on subjects.
 */
export function checkSteps(
  steps: readonly RequestedStep[],
  sentSubjects: readonly unknown[],
  models: ModelsFile,
  param = 'subjects',
): CheckedSteps {
  const segments = compileSteps(steps, models);
  const subjects = parseSubjects(sentSubjects, param);
  const modelSteps = segments.filter((segment) => segment.runs === 'model');
  checkSubjectsAreUsed(modelSteps, subjects, models, param);
  const passSteps = segments.flatMap((segment) => (segment.runs === 'pass' ? segment.steps : []));
  const references = subjectReferencesOf(subjects).map(
    (assetId): NamedAsset => ({ assetId, param, role: 'reference' }),
  );
  return {
    segments,
    subjects,
    named: [...passSteps.flatMap(secondAssetsOf), ...references],
    schemas: modelSteps.flatMap(sentAnswerSchemasOf),
  };
}

/** The answer schema that was sent with these parameters, if any. */
export function sentAnswerSchemasOf({
  parameters: { schema },
  at,
}: Pick<AiStep, 'parameters' | 'at'>): RequestedAnswerSchema[] {
  return schema === undefined
    ? []
    : [{ schema: schema as GivenParameters, param: at('parameters.schema').param }];
}

/** The assets that a step reads besides its picture: its layers, and the asset to compare with. */
function secondAssetsOf(step: DeterministicStep): NamedAsset[] {
  const { steps, compareWith } = step.fragment;
  const compared = compareWith === undefined ? [] : [{ assetId: compareWith, key: 'otherAssetId' }];
  return [...layersOf(steps), ...compared].map(({ assetId, key }) => {
    return { assetId, param: fieldOfArgument(step, key).param, role: 'second' };
  });
}

/**
 * Refuses steps in a wrong position: one with a JSON answer before the end, and a step in a chain that gets no image.
 */
function refuseMisplaced(steps: readonly CompiledStep[]): void {
  for (const { op, index, at } of steps) {
    if (op?.produces === 'json' && index < steps.length - 1)
      throw at('op').refuse(`${op.op} answers JSON, which no further step can use: make it the last.`);
    if (op?.requiresAssets === false && steps.length > 1) {
      const message = `${op.op} makes its picture from a prompt alone, so it can only be a job of its own: run it, then send its resultAssetId in assetIds of a second job.`;
      throw at('op').refuse(message);
    }
  }
}
