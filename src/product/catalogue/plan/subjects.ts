import { layersOf } from '../../../../workers/image/operations/index.ts';
import { type ApiError, invalidParamError } from '../../../platform/http/errors/errors.ts';
import { withoutAbsentFields } from '../../../platform/values/present.ts';
import type { ModelsFile } from '../../models/models.ts';
import { findFirstViolation } from '../checks/check.ts';
import type { GivenParameters } from '../op.ts';
import { MAX_PROMPT_CHARACTERS } from '../parameters.ts';
import { compileSteps } from './compile.ts';
import { type AiStep, type CompiledSegment, type DeterministicStep, fieldOfArgument } from './pass.ts';
import { MAX_SUBJECT_REFERENCES, MAX_SUBJECTS, PromptSubject, type RequestedStep } from './step.ts';

/** The ops whose models receive the subjects' pictures. */
const SUBJECT_OPS: readonly string[] = ['generate', 'edit'];

/** A mention of a subject in a prompt, such as `{{subject.anna}}`. The name may be followed by spaces. */
const SUBJECT_PLACEHOLDER_PATTERN = /\{\{\s*subject\.([^{}]*)\}\}/g;

/**
 * Checks the sent subjects, except whether their images exist.
 * @param param the full name of the field, such as `subjects` or `versions[2].subjects`.
 * @throws ApiError invalid_param on `param`.
 */
export function parseSubjects(sent: readonly unknown[], param: string): PromptSubject[] {
  if (sent.length > MAX_SUBJECTS) throw tooManyEntriesError(param, 'subjects', MAX_SUBJECTS, sent.length);
  const subjects = sent.map((subject, index) => parseSubject(subject, index, param));
  const names = subjects.map(({ name }) => name);
  const repeated = names.find((name, index) => names.indexOf(name) < index);
  if (repeated !== undefined) {
    throw invalidParamError(param, `Two subjects have the name "${repeated}": give each its own.`, {
      received: repeated,
    });
  }
  const images = subjectReferencesOf(subjects).length;
  if (images > MAX_SUBJECT_REFERENCES)
    throw tooManyEntriesError(param, 'reference images', MAX_SUBJECT_REFERENCES, images);
  return subjects;
}

function parseSubject(sent: unknown, index: number, param: string): PromptSubject {
  const violation = findFirstViolation(PromptSubject, sent, 'a subject');
  if (violation !== undefined) {
    const details = { index, ...violation.details };
    throw invalidParamError(param, `${param}[${index}]: ${violation.message}`, details);
  }
  const { name, referenceAssetIds, descriptor } = sent as PromptSubject;
  return { name, referenceAssetIds, ...withoutAbsentFields({ descriptor }) };
}

/**
 * Refuses subjects that no step sends to a model, more pictures than a model accepts, and prompts that mention an
 * unknown subject.
 * @param steps the steps that run models.
 * @param param the name of the field that contains the subjects.
 * @throws ApiError invalid_param on `param`, or on the prompt of a step.
 */
function checkSubjectsAreUsed(
  steps: readonly AiStep[],
  subjects: readonly PromptSubject[],
  param: string,
): void {
  if (subjects.length > 0 && !steps.some(({ op }) => sendsSubjectPictures(op))) {
    const message = 'Only generate and edit steps show subjects to a model: add one, or leave subjects out.';
    throw invalidParamError(param, message);
  }
  for (const step of steps) {
    checkMentions(step, subjects);
    if (sendsSubjectPictures(step.op)) checkReferenceCount(step, subjects, param);
  }
}

/**
 * Refuses a prompt that mentions an unknown subject, or that becomes too long when descriptors replace the mentions.
 */
function checkMentions({ prompt = '', findField }: AiStep, subjects: readonly PromptSubject[]): void {
  const names = subjects.map(({ name }) => name);
  for (const [, mentioned = ''] of prompt.matchAll(SUBJECT_PLACEHOLDER_PATTERN)) {
    const name = mentioned.trimEnd();
    if (names.includes(name)) continue;
    const message = `The prompt names the subject "${name}", which is not among the subjects.`;
    throw findField('prompt').refuse(message, { received: name, allowed: names });
  }
  const { length } = promptWithDescriptors(prompt, subjects);
  if (prompt.length > MAX_PROMPT_CHARACTERS || length <= MAX_PROMPT_CHARACTERS) return;
  const message = `The prompt has ${length} characters with the descriptors of its subjects filled in, and a model takes at most ${MAX_PROMPT_CHARACTERS}: name them less often, or shorten the descriptors.`;
  throw findField('prompt').refuse(message, { limit: MAX_PROMPT_CHARACTERS, received: length });
}

/**
 * The prompt as the model receives it. Each mention becomes the descriptor of its subject, or its name if it has no
 * descriptor.
 */
export function promptWithDescriptors(prompt: string, subjects: readonly PromptSubject[]): string {
  const words = new Map(subjects.map(({ name, descriptor }) => [name, descriptor ?? name]));
  return prompt.replace(
    SUBJECT_PLACEHOLDER_PATTERN,
    (mention, name: string) => words.get(name.trimEnd()) ?? mention,
  );
}

/** The assets that are sent with every call of generate and edit, in order. */
export function subjectReferencesOf(subjects: readonly PromptSubject[]): string[] {
  return subjects.flatMap(({ referenceAssetIds }) => referenceAssetIds);
}

/** Whether the op sends the subjects' pictures to its model. */
export function sendsSubjectPictures({ op }: { op: string }): boolean {
  return SUBJECT_OPS.includes(op);
}

/** Checks the number of pictures that a step sends. The edited picture counts too. */
function checkReferenceCount(
  { op: { op }, model }: AiStep,
  subjects: readonly PromptSubject[],
  param: string,
): void {
  const images = subjectReferencesOf(subjects).length + (op === 'edit' ? 1 : 0);
  const limit = model.maxInputImages ?? 0;
  if (subjects.length === 0 || images <= limit) return;
  const takes = limit === 0 ? 'takes no image' : `takes at most ${limit} images`;
  const message = `${op} on ${model.id} would be shown ${images} images, and the model ${takes}: send fewer references, or name another model.`;
  throw invalidParamError(param, message, { limit, received: images });
}

function tooManyEntriesError(param: string, what: string, limit: number, received: number): ApiError {
  const message = `${param} has ${received} ${what}: at most ${limit} are allowed across the preset.`;
  return invalidParamError(param, message, { limit, received });
}

/**
 * An asset that the work needs besides the inputs of its items: its role, and the parameter to name in errors about it.
 */
export interface NamedAsset {
  assetId: string;
  param: string;
  role: 'second' | 'reference';
}

/** A JSON Schema that was sent for the answer of a model. A thread compiles it later. */
export interface RequestedAnswerSchema {
  schema: GivenParameters;
  /** The parameter to name in errors about the schema. */
  param: string;
}

/** A list of steps with its subjects. It was checked against all rules that need neither a store nor a thread. */
export interface CheckedSteps {
  segments: CompiledSegment[];
  subjects: PromptSubject[];
  /** The assets to which the steps and the subjects refer. Whether they exist must still be checked. */
  namedAssets: NamedAsset[];
  /** The answer schemas of the request. They must still be compiled. */
  schemas: RequestedAnswerSchema[];
}

/**
 * Compiles a list of steps and checks its subjects, except whether their assets exist.
 * @param param the name of the field that contains the subjects, for example `versions[2].subjects`.
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
  checkSubjectsAreUsed(modelSteps, subjects, param);
  const passSteps = segments.flatMap((segment) => (segment.runs === 'pass' ? segment.steps : []));
  const references = subjectReferencesOf(subjects).map(
    (assetId): NamedAsset => ({ assetId, param, role: 'reference' }),
  );
  return {
    segments,
    subjects,
    namedAssets: [...passSteps.flatMap(additionalAssetsOf), ...references],
    schemas: modelSteps.flatMap(sentAnswerSchemasOf),
  };
}

export function sentAnswerSchemasOf(step: Pick<AiStep, 'parameters' | 'findField'>): RequestedAnswerSchema[] {
  const { schema } = step.parameters;
  if (schema === undefined) return [];
  return [{ schema: schema as GivenParameters, param: step.findField('parameters.schema').param }];
}

/** The assets that a step reads besides the picture it works on: its layers, and the asset for a comparison. */
function additionalAssetsOf(step: DeterministicStep): NamedAsset[] {
  const { steps, compareWith } = step.fragment;
  const compared = compareWith === undefined ? [] : [{ assetId: compareWith, key: 'otherAssetId' }];
  return [...layersOf(steps), ...compared].map(({ assetId, key }) => {
    return { assetId, param: fieldOfArgument(step, key).param, role: 'second' };
  });
}
