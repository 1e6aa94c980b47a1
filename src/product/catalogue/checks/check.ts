import { type TSchema, Type } from '@sinclair/typebox';
import { Ajv, type ErrorObject } from 'ajv';
import { CSS_COLOUR_EXAMPLES, parseCssColour } from '../../../../workers/image/colour/colour.ts';
import type { CallCorrection } from '../../../platform/http/errors/corrections.ts';
import {
  type ApiError,
  correctionsAtSentFields,
  type SentField,
  type SentFieldFinder,
  sentFieldAt,
} from '../../../platform/http/errors/errors.ts';
import { recognizeNameWithUnit, undeclaredNamesIn } from '../../../platform/http/errors/shapes.ts';
import {
  mismatchedValueDiagnosis,
  missingFieldDiagnosis,
  spellPath,
  undeclaredFieldsDiagnosis,
  type ViolationSubject,
  violationPathOf,
} from '../../../platform/http/errors/violations.ts';
import { likelyNames } from '../../../platform/ids/nearest.ts';
import { withoutAbsentFields } from '../../../platform/values/present.ts';
import { findOp, findStepMeantByKey, OPS } from '../index.ts';
import type { CheckedParameters, GivenParameters, Op, ParameterViolation, PixelOp } from '../op.ts';
import { faceSentence } from '../usual-words.ts';
import { CUT_BY_FRAGMENT_HINT, colourHint, type ValueHint } from './colours.ts';
import { normalizeParameterSpelling, parseOpParameters } from './spelling.ts';

const ANY_OBJECT_SCHEMA = Type.Object({}, { additionalProperties: true });

/**
 * Checks parameters against their op's contract. The spelling of a deterministic op's parameters is also normalized.
 * The parameters of an op that runs a model stay as sent; if the op makes images, any object is accepted.
 * @param findField finds the field in which `parameters`, or `parameters.<name>`, was sent.
 * @returns the parameters to store and run.
 * @throws ApiError invalid_param on the parameter, with details of what was received and what is allowed.
 */
export function checkOpParameters(
  op: Op,
  given: unknown = {},
  findField: SentFieldFinder = sentFieldOfCall,
): CheckedParameters {
  const schema = op.runs === 'model' && op.sendsParametersUnchanged ? ANY_OBJECT_SCHEMA : op.parameters;
  const own = normalizeParameterSpelling(op, given as GivenParameters);
  const violation = findFirstViolation(schema, own, op.op) ?? op.findInvalidParameter?.(own);
  if (violation === undefined) return own as CheckedParameters;
  const { key, message, details, corrections: certain = [] } = violation;
  const corrections = certain.length > 0 ? certain : fieldCorrections(op, violation);
  const isHinted = corrections.length > 0 || details?.suggest !== undefined;
  const { says, instead } = isHinted ? NO_HINT : otherOpsHint(op, key, own);
  const more = instead === undefined ? details : { ...details, instead };
  throw parameterError({ key, message: `${message}${says}`, details: more, corrections }, findField);
}

/**
 * The correction for an undeclared parameter that means a field of the op, such as `question` for `prompt`. Callers may
 * send the fields of an op among its parameters.
 */
function fieldCorrections(op: Op, { key }: ParameterViolation): CallCorrection[] {
  if (op.runs !== 'model' || Object.hasOwn(op.parameters.properties, key)) return [];
  const [rename, ...others] = likelyNames(key, Object.keys(op.fields));
  return rename === undefined || others.length > 0 ? [] : [{ param: key, rename }];
}

/** Makes the error for a violation. The error names the parameter as the caller sent it. */
export function parameterError(
  { key, message, details, corrections = [] }: ParameterViolation,
  findField: SentFieldFinder,
): ApiError {
  const sentParameter = (name: string) => findField(name === '' ? 'parameters' : `parameters.${name}`);
  return sentParameter(key).refuse(message, details, correctionsAtSentFields(corrections, sentParameter));
}

/** The field of a parameter that was sent in the call itself, such as a query key. */
export function sentFieldOfCall(key: string): SentField {
  return sentFieldAt(key.replace(/^parameters\./, ''));
}

/** The maximum number of ops that the message about another op's parameter names. */
const MAX_NAMED_OPS = 3;

/** A hint that other ops have the parameter: a sentence, and steps that run both ops. */
interface OtherOpsHint {
  says: string;
  instead?: { steps: object[] }[];
}

const NO_HINT: OtherOpsHint = { says: '' };

/** A step whose parameters its op accepts. */
interface ValidStep {
  op: string;
  parameters: GivenParameters;
}

/** Finds other ops with a parameter that this deterministic op lacks. The hint is empty if no op has the parameter. */
function otherOpsHint(op: Op, key: string, sent: GivenParameters): OtherOpsHint {
  if (op.runs !== 'pass' || key === '' || Object.hasOwn(op.parameters.properties, key)) return NO_HINT;
  const takers = Object.values<Op>(OPS).filter(
    (other) => other.runs === 'pass' && Object.hasOwn(other.parameters.properties, key),
  );
  const named = takers.slice(0, MAX_NAMED_OPS);
  const step = findStepMeantByKey(key, sent[key] === 'true' ? true : sent[key]);
  if (step !== undefined && step.op !== op.op) return furtherStepHint(op, key, step, sent);
  if (named.length === 0) return otherUnitHint(op, key, sent);
  const take = named.length === 1 ? 'takes' : 'take';
  const says = ` ${named.map((taker) => taker.op).join(', ')} ${take} it: send several ops as steps.`;
  const fields = Object.entries(sent);
  const isOwn = ([name]: [string, unknown]) => Object.hasOwn(op.parameters.properties, name);
  const own = fields.filter(isOwn);
  const others = fields.filter((field) => !isOwn(field));
  const ownStep = parseValidStep(op, own);
  if (ownStep === undefined) return { says };
  const instead = [
    [findGeneralStep(op, ownStep, others)],
    ...named.map((taker) => [ownStep, parseValidStep(taker, others)]),
  ].flatMap((steps) => (steps.includes(undefined) ? [] : [{ steps: steps as object[] }]));
  return { says, ...(instead.length > 0 && { instead }) };
}

/** The hint for a parameter that means a further step, such as `rotate=90` beside the parameters of resize. */
function furtherStepHint(
  op: Op,
  key: string,
  { op: name, parameters = {} }: { op: string; parameters?: GivenParameters },
  { [key]: _, ...own }: GivenParameters,
): OtherOpsHint {
  const further = findOp(name);
  const steps = [
    parseValidStep(op, Object.entries(own)),
    further?.runs === 'pass' ? parseValidStep(further, Object.entries(parameters)) : undefined,
  ];
  const says = ` ${name} is an op of its own: send several ops as steps.`;
  return steps.includes(undefined) ? { says } : { says, instead: [{ steps: steps as ValidStep[] }] };
}

/** The hint for a parameter that another op has in another unit, such as `maxKB` for the `maxBytes` of compress. */
function otherUnitHint(op: Op, key: string, { [key]: value, ...others }: GivenParameters): OtherOpsHint {
  for (const { runs, parameters } of Object.values<Op>(OPS)) {
    const meant = recognizeNameWithUnit({ names: [key], sent: { [key]: value }, schema: parameters })?.by;
    const [name] = Object.keys(meant ?? {});
    if (runs !== 'pass' || meant === undefined || name === undefined || name in op.parameters.properties)
      continue;
    return otherOpsHint(op, name, { ...others, ...meant });
  }
  return NO_HINT;
}

/**
 * The same work as a step of a more general op: resize instead of thumbnail, for example. The step has the fixed
 * arguments of the special op, unless the caller has sent others. An argument that the special op makes of the same
 * parameter as a sent one has the value of that one, so that `width` of a thumbnail stays the side of a square.
 * Undefined if there is no more general op, or if it refuses the parameters.
 */
function findGeneralStep(
  op: PixelOp,
  { parameters }: ValidStep,
  sent: readonly [string, unknown][],
): ValidStep | undefined {
  const [step, ...more] = op.compile(parameters as CheckedParameters).steps;
  if (step === undefined || more.length > 0 || step.operation === op.op) return undefined;
  const general = Object.values<Op>(OPS).find((other) => other.op === step.operation);
  const isTaken = (name: string) => general && Object.hasOwn(general.parameters.properties, name);
  if (general === undefined || !Object.keys(parameters).every(isTaken)) return undefined;
  const sentTwin = (name: string) =>
    sent.find(([other]) => op.renamed[name]?.some((source) => op.renamed[other]?.includes(source)))?.[1];
  const fixed = Object.entries(withoutAbsentFields(step.params)).map(([name, value]) => [
    name,
    sentTwin(name) ?? value,
  ]);
  return parseValidStep(
    general,
    Object.entries({ ...Object.fromEntries(fixed), ...parameters, ...Object.fromEntries(sent) }),
  );
}

/** A step with these parameters, whose texts are parsed as in a query; undefined if its op refuses them. */
function parseValidStep(op: Op, sent: readonly [string, unknown][]): ValidStep | undefined {
  const parsed = sent.map(([name, value]) =>
    typeof value === 'string' ? parseOpParameters(op, { [name]: value }) : { [name]: value },
  );
  const parameters = Object.assign({}, ...parsed);
  const problem =
    findFirstViolation(op.parameters, parameters, op.op) ?? op.findInvalidParameter?.(parameters);
  return problem === undefined ? { op: op.op, parameters } : undefined;
}

/** Types are not coerced and defaults are not filled in, so that parameters stay as sent. */
const ajv = new Ajv({
  // Schemas are not validated themselves. Ajv would have to compile its meta-schema, which delays the first call of
  // each process.
  validateSchema: false,
  strict: true,
  strictTypes: false,
  verbose: true,
  formats: { 'css-color': (text) => parseCssColour(text) !== undefined },
});
const FORMAT_DESCRIPTIONS = { 'css-color': `a CSS colour such as ${CSS_COLOUR_EXAMPLES}` };

/**
 * The first violation of a schema by `value`, or undefined. Each schema is compiled at its first use. Its validator is
 * kept until the process ends, so a schema must not be made per call.
 * @param owner the op or registry operation of the contract, for the message.
 * @returns a violation with the outermost invalid parameter as its key ('' when the value itself is invalid).
 */
export function findFirstViolation(
  schema: TSchema,
  value: unknown,
  owner: string,
): ParameterViolation | undefined {
  const validate = ajv.compile(schema);
  if (validate(value)) return undefined;
  // A misspelt name is reported before a missing one, because a misspelt name usually causes the missing one.
  const [unknown, ...others] = undeclaredKeysOf(schema, value);
  if (unknown !== undefined) return violationByUndeclaredKeys([], [unknown, ...others], value, schema, owner);
  // For a choice between schemas, ajv lists the failures of each schema first, and the failure of the choice last.
  const error = validate.errors?.at(-1);
  return error && violationOf(error, owner);
}

function violationOf(error: ErrorObject, owner: string): ParameterViolation {
  const path = violationPathOf(error);
  const { missingProperty } = error.params as Record<string, string | undefined>;
  const schema = error.parentSchema as TSchema;
  const [unknown, ...others] = undeclaredKeysOf(schema, error.data);
  if (unknown !== undefined) {
    const parent = path.slice(0, -1);
    const names = [unknown, ...others] as const;
    return violationByUndeclaredKeys(parent, names, error.data, schema, spellPath(parent) || owner);
  }
  if (missingProperty !== undefined) {
    const { message } = missingFieldDiagnosis(spellPath(path), error.data, schema, violationSubjectOf(owner));
    return { key: path[0] ?? '', message, details: { missing: [spellPath(path)] } };
  }
  const named = { path: spellPath(path), name: spellPath(path) || `What is sent to ${owner}` };
  const subject = violationSubjectOf(owner);
  const { message, corrections, suggest, instead } = mismatchedValueDiagnosis(
    named,
    error.data,
    schema,
    subject,
  );
  const hint = invalidValueHint(error.data, schema);
  return {
    key: path[0] ?? '',
    message: `${message}${hint.says}`,
    corrections: hint.replace === undefined ? corrections : [{ param: named.path, replace: hint.replace }],
    details: {
      ...{ received: error.data, expected: schema.type, ...allowedValueDetailsOf(schema) },
      ...withoutAbsentFields({ suggest: hint.suggest ?? suggest, instead }),
    },
  };
}

function violationSubjectOf(owner: string): ViolationSubject {
  return { owner, noun: 'parameter', formats: FORMAT_DESCRIPTIONS };
}

/** The names in an object that its schema does not declare. */
function undeclaredKeysOf(schema: TSchema, value: unknown): string[] {
  return schema.additionalProperties === false ? undeclaredNamesIn(value, schema) : [];
}

/**
 * The violation of a schema by the undeclared keys of an object. The violation names the first key.
 * @param parent the path of the object.
 */
function violationByUndeclaredKeys(
  parent: readonly string[],
  names: readonly [string, ...string[]],
  sent: unknown,
  schema: TSchema,
  owner: string,
): ParameterViolation {
  const path = [...parent, names[0]];
  const fields = { param: spellPath(path), names, sent, schema };
  const { message, corrections, suggest } = undeclaredFieldsDiagnosis(fields, violationSubjectOf(owner));
  const allowed = Object.keys(schema.properties ?? {});
  return {
    key: path[0] ?? '',
    message,
    corrections,
    details: { allowed, ...withoutAbsentFields({ suggest }) },
  };
}

/**
 * The end of the message about an invalid value: what the value probably means, and which of the allowed words are
 * similar to it.
 */
function invalidValueHint(value: unknown, schema: TSchema): ValueHint {
  if (schema.format === 'css-color') return colourHint(value);
  if (typeof value !== 'string') return { says: '' };
  if (value === '' && schema.minLength !== undefined) return { says: CUT_BY_FRAGMENT_HINT };
  if (schema.type === 'array' || schema.type === 'object')
    return { says: ' In a URL or a form it is JSON text.' };
  const onFaces = allowedWordsOf(schema).includes('attention') ? faceSentence(value) : undefined;
  if (onFaces !== undefined) return { says: ` ${onFaces}`, suggest: ['attention', 'center'] };
  const choosesFormat = value.toLowerCase() === 'auto' && allowedWordsOf(schema).includes('jpeg');
  if (!choosesFormat) return { says: '' };
  return {
    says: ' The service does not choose a format: leave it out for the format of the input, or send several formats to the op compress.',
    suggest: BROWSER_FORMATS,
  };
}

/** The formats to suggest to a caller who expects the service to choose the best one for each browser. */
const BROWSER_FORMATS = ['webp', 'avif', 'jpeg'];

/** The words that a schema allows, directly or in any of its alternatives. */
function allowedWordsOf({ anyOf, enum: words = [] }: TSchema): string[] {
  return [...words.map(String), ...(anyOf ?? []).flatMap(allowedWordsOf)];
}

/** The accepted values, as data that a program can act on. */
function allowedValueDetailsOf(schema: TSchema): Record<string, unknown> {
  const { minimum: min, maximum: max, pattern } = schema;
  const words = allowedWordsOf(schema);
  return withoutAbsentFields({ allowed: words.length === 0 ? undefined : words, min, max, pattern });
}
