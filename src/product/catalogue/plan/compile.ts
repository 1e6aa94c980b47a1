import type { TObject } from '@sinclair/typebox';
import { argumentsSchema } from '../../../../workers/image/operations/parameter.ts';
import type { SentField } from '../../../platform/http/errors/sent-field.ts';
import { hintFirst } from '../../../platform/ids/nearest.ts';
import { present } from '../../../platform/values/present.ts';
import { chosenModel, contractOf, type Model, type Models } from '../../models/models.ts';
import { leastAnswerProblem, schemaProblem } from '../../models/schema-bounds.ts';
import { checkParameters, firstViolation } from '../checks/check.ts';
import { findOp, OPS } from '../index.ts';
import { type AiOp, type Given, isPixelOp, type Op, type PixelOp } from '../op.ts';
import { prompt as promptSchema } from '../parameter.ts';
import { checkRegistryStep, layersOf } from '../registry.ts';
import { meantOp } from '../usual-words.ts';
import {
  type AiStep,
  argumentOf,
  type CompiledStep,
  deterministicIn,
  mergePass,
  segmentsOf,
} from './pass.ts';
import { type FieldsOf, refuseFields, type SentStep } from './sent-step.ts';
import type { Subject } from './step.ts';
import { checkSubjectsAreUsed, readSubjects, referencesOf } from './subjects.ts';

/**
 * Compiles a list of steps against the catalogue, completely checked, so that it can run.
 * @throws ApiError invalid_param on the step, or the field or parameter of it, that is at fault.
 */
export function compile(steps: readonly SentStep[], models: Models): CompiledStep[] {
  const compiled = steps.map((step, index) => compileStep(step, index, models));
  refuseMisplaced(compiled);
  // Steps of one pass may have conflicting settings.
  for (const segment of segmentsOf(compiled)) mergePass(deterministicIn(segment));
  return compiled;
}

function compileStep(step: SentStep, index: number, models: Models): CompiledStep {
  const { at } = step;
  if ((step.op === undefined) === (step.operation === undefined)) {
    const found = step.op === undefined ? 'neither op nor operation' : 'both op and operation';
    throw at('').refuse(`${at('').name} has ${found}: a step is one or the other.`);
  }
  if (step.op === undefined) {
    refuseFields(step, ['model', 'prompt', 'parameters'], 'a step with operation takes params alone', { at });
    const fragment = checkRegistryStep(step.operation, step.params, at);
    return { kind: 'deterministic', index, parameters: { ...(step.params as Given) }, fragment, at };
  }
  const op = stepOp(step.op, at('op'));
  refuseFields(step, ['params'], 'a step with op takes parameters', { at });
  if (op.runs === 'model') return aiStep(op, step, index, models);
  refuseFields(step, ['model', 'prompt'], `${op.op} is deterministic and runs no model`, { at });
  const parameters = checkParameters(op, step.parameters, at);
  return { kind: 'deterministic', index, op, parameters, fragment: op.compile(parameters), at };
}

function stepOp(name: string, { path, refuse }: SentField): PixelOp | AiOp {
  const op = findOp(name);
  if (op !== undefined && isStepOp(op)) return op;
  const stepOps = Object.values<Op>(OPS).filter(isStepOp);
  const allowed = stepOps.map((candidate) => candidate.op);
  const problem = op === undefined ? `There is no op "${name}"` : `${name} cannot be a step`;
  const { hint, mends } = op === undefined ? meantOp(name, path, allowed) : { hint: '', mends: [] };
  const message = hintFirst(hint, `${problem}: use one of ${allowed.join(', ')}.`);
  throw refuse(message, { received: name, allowed }, mends);
}

function isStepOp(op: Op): op is PixelOp | AiOp {
  return op.runs === 'model' || isPixelOp(op);
}

/** An AI step with its model, its prompt, else that of the op, and the JSON Schema of its answer. */
function aiStep(
  op: AiOp,
  { model: named, prompt, at, ...sent }: SentStep,
  index: number,
  models: Models,
): AiStep {
  const model = chosenModel(models, named, op.op, at('model'));
  const parameters = checkParameters(op, sent.parameters, at);
  checkBounds(model, parameters, at);
  checkPrompt(op, prompt, at('prompt'));
  checkAnswerSchema(model, parameters, at('parameters.schema'));
  const schema = model.answerSchema ?? (parameters.schema as Given | undefined) ?? op.defaultSchema;
  return {
    ...{ kind: 'ai', index, op, model: model.id, parameters, at },
    ...present({ prompt: prompt ?? op.defaultPrompt }),
    ...(op.produces === 'json' && schema !== undefined && { schema }),
  };
}

/** Refuses what the model would refuse. A parameter that is null is not sent to it. */
function checkBounds(model: Model, parameters: Given, at: FieldsOf): void {
  const violation = firstViolation(contractOf(model), present(parameters), model.id);
  if (violation === undefined) return;
  const { key, message, details } = violation;
  const described = model.parameters.find((parameter) => parameter.key === key)?.description;
  const hint = described === undefined ? '' : ` ${described}`;
  throw at(`parameters.${key}`).refuse(`${message}${hint} The model ${model.id} takes no other.`, details);
}

/** Ops without a default prompt accept one as well, because some of their models use it. */
const ANY_PROMPT = promptSchema('What to heed.');

/** The contract of the prompt of each AI op. They are made once, because the validator of a contract is kept. */
const PROMPTS = Object.fromEntries(
  Object.values<Op>(OPS).map((op) => [op.op, argumentsSchema({ prompt: op.fields.prompt ?? ANY_PROMPT })]),
) as Record<AiOp['op'], TObject>;

function checkPrompt(op: AiOp, prompt: string | undefined, { name, refuse }: SentField): void {
  if (prompt === undefined && !op.requiresPrompt) return;
  const violation = firstViolation(PROMPTS[op.op], present({ prompt }), op.op);
  if (violation !== undefined) throw refuse(violation.message, violation.details);
  if (prompt?.trim() === '') throw refuse(`${name} is blank: describe what the model should make.`);
}

function checkAnswerSchema(model: Model, { schema }: Given, { refuse }: SentField): void {
  if (schema === undefined) return;
  if (model.answerSchema !== undefined) {
    const message = `${model.id} answers in its own form: leave the schema out, or run another model.`;
    throw refuse(message, { allowed: [] });
  }
  const problem = schemaProblem(schema) ?? leastAnswerProblem(schema as Given);
  if (problem !== undefined) throw refuse(`The schema ${problem}.`);
}

/** An asset that the work needs besides its items, with its role and with the parameter that a refusal names. */
export interface NamedAsset {
  assetId: string;
  param: string;
  role: 'layer' | 'comparison' | 'reference';
}

/** A JSON Schema that was sent for the answer of a model. It is compiled later, in a thread. */
export interface SentSchema {
  schema: Given;
  /** The parameter that a refusal of it names. */
  param: string;
}

/** A list of steps with its subjects, valid except for the rules that need a store or a thread. */
export interface CheckedSteps {
  compiled: CompiledStep[];
  subjects: Subject[];
  /** The assets that it names, whose existence is still to be checked. */
  named: NamedAsset[];
  /** Schemas that were sent for answers, which are still to be compiled. */
  schemas: SentSchema[];
}

/**
 * Compiles a list of steps, and checks its subjects, except for the existence of their assets.
 * @param param the name of the subjects, for example `versions[2].subjects`.
 * @throws ApiError invalid_param on the step, field or parameter at fault, or on subjects.
 */
export function checkSteps(
  steps: readonly SentStep[],
  sentSubjects: readonly unknown[],
  models: Models,
  param = 'subjects',
): CheckedSteps {
  const compiled = compile(steps, models);
  const subjects = readSubjects(sentSubjects, param);
  checkSubjectsAreUsed(compiled, subjects, models, param);
  const references = referencesOf(subjects).map((assetId) => ({
    assetId,
    param,
    role: 'reference' as const,
  }));
  return {
    compiled,
    subjects,
    named: [...compiled.flatMap(secondAssetsOf), ...references],
    schemas: compiled.flatMap((step) => (step.kind === 'ai' ? schemasOf(step) : [])),
  };
}

/** The schema that was sent with these parameters, if any. */
export function schemasOf({ parameters: { schema }, at }: Pick<AiStep, 'parameters' | 'at'>): SentSchema[] {
  return schema === undefined ? [] : [{ schema: schema as Given, param: at('parameters.schema').param }];
}

/** The layers of a step, and the asset with which it is compared. */
function secondAssetsOf(step: CompiledStep): NamedAsset[] {
  if (step.kind === 'ai') return [];
  const { steps, compareWith } = step.fragment;
  const paramOf = (key: string) => argumentOf(step, key).param;
  const layers = layersOf(steps).map(
    ({ assetId, key }): NamedAsset => ({ assetId, param: paramOf(key), role: 'layer' }),
  );
  if (compareWith === undefined) return layers;
  return [...layers, { assetId: compareWith, param: paramOf('otherAssetId'), role: 'comparison' }];
}

/** Refuses errors between steps: a JSON answer before the end, and a step in a chain that gets no image. */
function refuseMisplaced(compiled: readonly CompiledStep[]): void {
  const isChain = segmentsOf(compiled).length > 1;
  for (const { op, index, at } of compiled) {
    if (op === undefined) continue;
    if (op.produces === 'json' && index < compiled.length - 1) {
      throw at('op').refuse(`${op.op} answers JSON, which no further step can use: make it the last.`);
    }
    if (!op.requiresAssets && isChain) {
      const message = `${op.op} makes its picture from a prompt alone, so it can only be a job of its own: run it, then send its resultAssetId in assetIds of a second job.`;
      throw at('op').refuse(message);
    }
  }
}
