import type { TObject } from '@sinclair/typebox';
import { contract } from '../../../../workers/image/operations/parameter.ts';
import { invalidParam } from '../../../platform/http/errors/errors.ts';
import { present } from '../../../platform/values/present.ts';
import { leastAnswerProblem } from '../../models/least-answer.ts';
import type { Model } from '../../models/models.ts';
import { schemaProblem } from '../../models/schema-bounds.ts';
import { checkParameters } from '../checks/check.ts';
import { firstViolation } from '../checks/contract.ts';
import { OPS } from '../index.ts';
import type { AiOp, Given, Op } from '../op.ts';
import { prompt as promptSchema } from '../parameter.ts';
import type { AiStep } from './compiled-step.ts';

/** Ops without a default prompt accept one as well, because some of their models use it. */
const ANY_PROMPT = promptSchema('What to heed.');

/** The contract of the prompt of each AI op. They are made once, because the validator of a contract is kept. */
const PROMPTS = Object.fromEntries(
  Object.values<Op>(OPS).map((op) => [op.op, contract({ prompt: op.fields.prompt ?? ANY_PROMPT })]),
) as Record<AiOp['op'], TObject>;

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

/** The location of an AI step: its index, and the prefixes of field names in refusals. */
export interface StepLocation {
  index: number;
  at: string;
  /** The prefix of a parameter depends on its name, because variants inherit parameters. */
  parameters: (key: string) => string;
}

/**
 * Checks the prompt and the parameters of an AI op, as the caller sent them, against its contract and its model.
 * Without a prompt of the caller, the step has the op's default prompt.
 * @throws ApiError invalid_param on the field or the parameter at fault.
 */
export function checkAiStep(
  op: AiOp,
  model: Model,
  sent: { prompt?: string; parameters?: unknown },
  location: StepLocation,
): AiStep {
  const parameters = checkParameters(op, sent.parameters, location.parameters);
  checkPrompt(op, sent.prompt, `${location.at}prompt`);
  checkAnswerSchema(model, parameters, `${location.parameters('schema')}schema`);
  const schema = model.answerSchema ?? (parameters.schema as Given | undefined) ?? op.defaultSchema;
  return {
    ...{ kind: 'ai', index: location.index, op: op.op, model: model.id, parameters },
    ...present({ prompt: sent.prompt ?? op.defaultPrompt }),
    ...(op.produces === 'json' && schema !== undefined && { schema }),
  };
}

function checkPrompt(op: AiOp, prompt: string | undefined, param: string): void {
  if (prompt === undefined && !op.requiresPrompt) return;
  const violation = firstViolation(PROMPTS[op.op], present({ prompt }), op.op);
  if (violation !== undefined) throw invalidParam(param, violation.message, violation.details);
  if (prompt?.trim() === '')
    throw invalidParam(param, `${param} is blank: describe what the model should make.`);
}

function checkAnswerSchema(model: Model, { schema }: Given, param: string): void {
  if (schema === undefined) return;
  if (model.answerSchema !== undefined) {
    const message = `${model.id} answers in its own form: leave the schema out, or run another model.`;
    throw invalidParam(param, message, { allowed: [] });
  }
  const problem = schemaProblem(schema) ?? leastAnswerProblem(schema as Given);
  if (problem !== undefined) throw invalidParam(param, `The schema ${problem}.`);
}
