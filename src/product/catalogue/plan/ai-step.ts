import { invalidParam } from '../../../platform/http/errors.ts';
import { present } from '../../../platform/names/present.ts';
import { leastAnswerProblem } from '../../models/least-answer.ts';
import type { Model } from '../../models/models.ts';
import { schemaProblem } from '../../models/schema-bounds.ts';
import { checkParameters } from '../checks/check.ts';
import { firstViolation } from '../checks/contract.ts';
import type { AiOp, Given } from '../op.ts';
import { contract, prompt as promptSchema } from '../parameter.ts';

/** The input of a model call, as the caller sent it. */
interface Sent {
  prompt?: string;
  parameters?: unknown;
}

/** The checked step. Without a prompt of the caller, it has the op's default prompt. */
export interface CheckedAiStep {
  op: AiOp['op'];
  model: string;
  prompt?: string;
  parameters: Given;
  /** The JSON Schema of the answer; absent when the result is an image. */
  schema?: Given;
}

/** Ops without a default prompt accept one as well, because some of their models use it. */
const ANY_PROMPT = promptSchema('What to heed.');

/** A JSON Schema that was sent for the answer of a model. It is compiled later, in a thread. */
export interface SentSchema {
  schema: Given;
  /** The parameter that a refusal of it names. */
  param: string;
}

/** The schemas that were sent with a step. */
export function schemasOf({ schema }: Given, param: string): SentSchema[] {
  return schema === undefined ? [] : [{ schema: schema as Given, param }];
}

/**
 * The prefixes of field names in refusals. Those of parameters depend on the name, because variants inherit parameters.
 */
export interface Place {
  before: string;
  parameters: string | ((key: string) => string);
}

/** The place of the fields of one step of a list. */
export function placeOfStep(at: string): Place {
  return { before: `${at}.`, parameters: `${at}.parameters.` };
}

/**
 * Checks the prompt and the parameters of an AI op against its contract and its model.
 * @throws ApiError invalid_param on the field or the parameter at fault.
 */
export function checkAiStep(op: AiOp, model: Model, sent: Sent, place: Place): CheckedAiStep {
  const parameters = checkParameters(op, sent.parameters, place.parameters);
  checkPrompt(op, sent.prompt, `${place.before}prompt`);
  const { parameters: where } = place;
  checkAnswerSchema(model, parameters, `${typeof where === 'string' ? where : where('schema')}schema`);
  const prompt = sent.prompt ?? op.defaultPrompt;
  const schema = model.answerSchema ?? (parameters.schema as Given | undefined) ?? op.defaultSchema;
  return {
    ...{ op: op.op, model: model.id, parameters },
    ...present({ prompt }),
    ...(op.produces === 'json' && schema !== undefined && { schema }),
  };
}

function checkPrompt(op: AiOp, prompt: string | undefined, param: string): void {
  if (prompt === undefined && !op.requiresPrompt) return;
  const schema = contract({ prompt: op.fields.prompt ?? ANY_PROMPT });
  const violation = firstViolation(schema, prompt === undefined ? {} : { prompt }, op.op);
  if (violation !== undefined) throw invalidParam(param, violation.message, violation.details);
  if (prompt?.trim() === '') throw invalidParam(param, `${param} is blank: say what the model is to make.`);
}

function checkAnswerSchema(model: Model, { schema }: Given, param: string): void {
  if (schema === undefined) return;
  if (model.answerSchema !== undefined) {
    const message = `${model.id} answers in a form of its own: leave the schema out, or run another model.`;
    throw invalidParam(param, message, { allowed: [] });
  }
  const problem = schemaProblem(schema) ?? leastAnswerProblem(schema as Given);
  if (problem !== undefined) throw invalidParam(param, `The schema ${problem}.`);
}
