import { isDeepStrictEqual } from 'node:util';
import { type Static, Type } from '@sinclair/typebox';
import { siblingPath } from '../../../platform/http/errors/corrections.ts';
import {
  invalidParamError,
  type SentField,
  type SentFieldFinder,
  sentFieldAt,
} from '../../../platform/http/errors/errors.ts';
import { anyObjectField, anyValueField, textField } from '../../../platform/http/fields.ts';
import { isJsonObject, truncatedJson } from '../../../platform/values/json.ts';
import { findOp, WITHIN_PARAMETERS } from '../index.ts';
import type { GivenParameters, Op } from '../op.ts';

/** The maximum number of steps in a list. It only limits how much is stored and read; real lists are far shorter. */
const MAX_STEPS = 1_000;

export const MAX_SUBJECTS = 4;
export const MAX_SUBJECT_REFERENCES = 4;

/** A step in one of two forms: an op of the catalogue, or an operation of the registry. */
export const PresetStep = Type.Object(
  {
    op: Type.Optional(textField('An op of kind ai or deterministic.')),
    model: Type.Optional(textField("AI steps; the op's default when absent.")),
    prompt: Type.Optional(
      textField('AI steps; `{{subject.<name>}}` expands to the descriptor of that subject.'),
    ),
    parameters: Type.Optional(anyObjectField("The op's parameters; at most 64 KB of JSON.")),
    operation: Type.Optional(textField('A key of the processing registry.')),
    params: Type.Optional(anyValueField("The operation's arguments.")),
  },
  {
    title: 'PresetStep',
    documented: { oneOf: [{ required: ['op'] }, { required: ['operation'] }] },
    additionalProperties: false,
    elsewhere: 'what the op takes goes into parameters of the step',
    within: WITHIN_PARAMETERS,
    examples: [{ op: 'resize', parameters: { width: 800 } }],
  },
);
export type PresetStep = Static<typeof PresetStep>;

/** A list of steps as sent, in a preset or in a job. */
export const RequestedStepList = Type.Array(PresetStep, {
  minItems: 1,
  maxItems: MAX_STEPS,
  description: 'Run in order. Adjacent deterministic steps are one pass; each AI step is its own segment.',
});

/** A person or an object that prompts mention, with pictures that are sent to the model. */
export const PromptSubject = Type.Object(
  {
    name: Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{0,39}$', description: 'Unique within the preset.' }),
    referenceAssetIds: Type.Array(Type.String({ minLength: 1 }), {
      minItems: 1,
      description: `Your own assets with status DONE; at most ${MAX_SUBJECT_REFERENCES} across all subjects.`,
    }),
    descriptor: Type.Optional(Type.String({ maxLength: 300 })),
  },
  {
    title: 'Subject',
    examples: [
      { name: 'hero', referenceAssetIds: [`ast_${'0'.repeat(24)}`], descriptor: 'A tall woman in red' },
    ],
  },
);
export type PromptSubject = Static<typeof PromptSubject>;

/**
 * Subjects as sent. This schema accepts any value, because parseSubjects checks them later with errors that all name
 * `subjects`.
 */
export const RequestedPromptSubjects = Type.Array(anyValueField('name, referenceAssetIds and descriptor.'), {
  description: `At most ${MAX_SUBJECTS}; a list of steps with subjects needs a generate or edit step.`,
});

/**
 * One step of work. All work is a list of steps: the list of an op has one step, and each variant of a job has its own
 * list. A step can find the field in which each of its values was sent, for errors.
 */
export interface RequestedStep extends PresetStep {
  /** Finds the field of the step that was sent as `op`, `model` or `parameters.width`; '' for the step itself. */
  findField: SentFieldFinder;
}

/**
 * Gives each step a function that finds where each of its fields was sent.
 * @param where the name of the list, such as `steps` or `versions[2].steps`.
 */
export function sentSteps(steps: readonly PresetStep[], where = 'steps'): RequestedStep[] {
  return steps.map((step, index) =>
    toRequestedStep(step, (key) => sentFieldAt(stepFieldName(where, index, key))),
  );
}

/**
 * The steps of a saved preset. They are checked again, because an earlier release may have accepted other parameters.
 * @param param the parameter of the call that contains the preset's name. Errors about the steps name this parameter.
 */
export function savedSteps(steps: readonly PresetStep[], param: string): RequestedStep[] {
  return steps.map((step, index) =>
    toRequestedStep(step, (key) => savedStepField(param, stepFieldName('steps', index, key))),
  );
}

/**
 * Gives a step the function that finds where its fields were sent, and moves `prompt` and similar fields of a model's
 * op out of its `parameters`.
 */
export function toRequestedStep(step: PresetStep, findField: SentFieldFinder): RequestedStep {
  return { ...withLiftedFields(findOp(step.op), step, findField), findField };
}

/**
 * Moves `prompt` and similar fields of a model's op out of its `parameters`. Callers may send them there, because the
 * catalogue lists both together.
 * @throws ApiError invalid_param on the parameter when the field was sent in both places with different values.
 */
export function withLiftedFields<T extends { parameters?: unknown }>(
  op: Op | undefined,
  sent: T,
  findField: SentFieldFinder = sentFieldAt,
): T {
  const { parameters } = sent;
  if (op?.runs !== 'model' || !isJsonObject(parameters)) return sent;
  const lifted = Object.keys(op.fields).filter((name) => Object.hasOwn(parameters, name));
  const beside = sent as GivenParameters;
  const twice = lifted.find(
    (name) => beside[name] !== undefined && !isDeepStrictEqual(beside[name], parameters[name]),
  );
  if (twice !== undefined) {
    const message = `${twice} is sent beside the op and within its parameters, and the two differ: send it once, beside the op.`;
    throw findField(`parameters.${twice}`).refuse(message);
  }
  const fields = Object.fromEntries(lifted.map((name) => [name, parameters[name]]));
  const remaining = Object.entries(parameters).filter(([name]) => !lifted.includes(name));
  return { ...sent, ...fields, parameters: Object.fromEntries(remaining) };
}

/**
 * Refuses fields that have no meaning in this call.
 * @param why the reason, as the end of the message.
 * @param ownName the field to use instead. If given, the error suggests renaming the refused field to it.
 * @throws ApiError invalid_param on the first of the fields that was sent.
 */
export function refuseFields<T extends object>(
  sent: T,
  fields: readonly (keyof T & string)[],
  why: string,
  { findField = sentFieldAt, ownName }: { findField?: SentFieldFinder; ownName?: string } = {},
): void {
  const field = fields.find((name) => sent[name] !== undefined);
  if (field === undefined) return;
  const { name, path, refuse } = findField(field);
  const correction =
    ownName === undefined ? { remove: true as const } : { rename: siblingPath(path, ownName) };
  throw refuse(`${name} must be left out: ${why}.`, undefined, [{ param: path, ...correction }]);
}

function stepFieldName(where: string, index: number, key: string): string {
  return key === '' ? `${where}[${index}]` : `${where}[${index}].${key}`;
}

function savedStepField(param: string, name: string): SentField {
  const refuse = (message: string) =>
    invalidParamError(param, `The preset has a step that is no longer accepted, save it again: ${message}`, {
      step: name,
    });
  return { param, name, path: name, refuse };
}

/** The maximum size of the parameters of a job, or of one step, as bytes of JSON. */
const MAX_PARAMETERS_BYTES = 64 * 1024;

/**
 * Refuses steps whose parameters are too large.
 * @param where the prefix of the invalid step's index, as in `steps[1].parameters`.
 * @throws ApiError invalid_param on the parameters or params of the step at fault.
 */
export function checkStepSizes(steps: readonly PresetStep[], where: string): void {
  for (const [index, { parameters, params }] of steps.entries()) {
    checkJsonSize(parameters, `${where}[${index}].parameters`);
    checkJsonSize(params, `${where}[${index}].params`);
  }
}

/**
 * Checks that a value (by default, the parameters of an op) is at most `limit` bytes as JSON.
 * @throws ApiError invalid_param on `param` if the value is larger.
 */
export function checkJsonSize(value: unknown, param: string, limit = MAX_PARAMETERS_BYTES): void {
  // A value that is too large is serialized only up to the limit, because serializing all of it would block the event
  // loop.
  if (value === undefined || Buffer.byteLength(truncatedJson(value, limit + 1)) <= limit) return;
  throw invalidParamError(param, `${param} is over ${limit} bytes of JSON: send less.`, { limit });
}
