import { type ApiError, invalidParam } from '../../../platform/http/errors/errors.ts';
import { isLongerThan } from '../../../platform/values/lengths.ts';
import { findModel, type Models } from '../../models/models.ts';
import { MAX_PROMPT_CHARACTERS } from '../parameter.ts';
import type { AiStep, CompiledStep } from './compiled-step.ts';
import {
  MAX_DESCRIPTOR_CHARACTERS,
  MAX_REFERENCES,
  MAX_SUBJECTS,
  SUBJECT_NAME_PATTERN,
  type Subject,
} from './step.ts';

/** The ops whose models receive the subjects' pictures. */
const SUBJECT_OPS: readonly string[] = ['generate', 'edit'];

const NAME = new RegExp(SUBJECT_NAME_PATTERN);

/** A mention of a subject in a prompt. */
const MENTION = /\{\{\s*subject\.([^{}]*?)\s*\}\}/g;

/**
 * Checks the sent subjects, except for the existence of their images.
 * @param param `subjects`, or the full name of an earlier version's subjects.
 * @throws ApiError invalid_param on `param`.
 */
export function readSubjects(sent: readonly unknown[], param: string): Subject[] {
  if (sent.length > MAX_SUBJECTS) throw tooMany(param, 'subjects', MAX_SUBJECTS, sent.length);
  const subjects = sent.map((subject, index) => readSubject(subject, index, param));
  const names = subjects.map(({ name }) => name);
  const repeated = names.find((name, index) => names.indexOf(name) < index);
  if (repeated !== undefined) {
    throw invalidParam(param, `Two subjects have the name "${repeated}": give each its own.`, {
      received: repeated,
    });
  }
  const images = referencesOf(subjects).length;
  if (images > MAX_REFERENCES) throw tooMany(param, 'reference images', MAX_REFERENCES, images);
  return subjects;
}

function readSubject(sent: unknown, index: number, param: string): Subject {
  const { name, referenceAssetIds, descriptor } = (sent ?? {}) as Record<string, unknown>;
  const refused = (problem: string, details?: Record<string, unknown>) =>
    invalidParam(param, `${param}[${index}] ${problem}`, { index, ...details });
  if (typeof name !== 'string' || !NAME.test(name)) {
    throw refused(
      'needs a name of 1 to 40 lowercase letters, digits, "_" and "-" that begins with a letter or digit.',
    );
  }
  if (!isListOfIds(referenceAssetIds)) {
    throw refused('needs referenceAssetIds: a list of one to four ids of your own assets.');
  }
  if (descriptor === undefined) return { name, referenceAssetIds };
  if (typeof descriptor !== 'string' || isLongerThan(descriptor, MAX_DESCRIPTOR_CHARACTERS)) {
    throw refused(`has a descriptor that is not text of at most ${MAX_DESCRIPTOR_CHARACTERS} characters.`, {
      limit: MAX_DESCRIPTOR_CHARACTERS,
    });
  }
  return { name, referenceAssetIds, descriptor };
}

function isListOfIds(value: unknown): value is string[] {
  return Array.isArray(value) && value.length > 0 && value.every((id) => typeof id === 'string' && id !== '');
}

/**
 * Refuses subjects that no step sends to a model, more pictures than a model accepts, and prompts that name a missing
 * subject.
 * @param where the prefix of `subjects` and `steps[i].prompt`.
 * @throws ApiError invalid_param on either.
 */
export function checkSubjectsAreUsed(
  steps: readonly CompiledStep[],
  subjects: readonly Subject[],
  models: Models,
  where = '',
): void {
  const aiSteps = steps.filter((step) => step.kind === 'ai');
  if (subjects.length > 0 && !aiSteps.some(showsSubjects)) {
    const message = 'Only generate and edit steps show subjects to a model: add one, or leave subjects out.';
    throw invalidParam(`${where}subjects`, message);
  }
  for (const step of aiSteps) {
    checkMentions(step.prompt, subjects, `${where}steps[${step.index}].prompt`);
    if (showsSubjects(step)) checkReferenceCount(step, subjects, models, `${where}subjects`);
  }
}

/**
 * Refuses a prompt that names a missing subject, or that is too long with the descriptors.
 * @throws ApiError invalid_param on `param`.
 */
export function checkMentions(prompt = '', subjects: readonly Subject[], param: string): void {
  const names = subjects.map(({ name }) => name);
  for (const [, name = ''] of prompt.matchAll(MENTION)) {
    if (names.includes(name)) continue;
    const message = `The prompt names the subject "${name}", which is not among the subjects.`;
    throw invalidParam(param, message, { received: name, allowed: names });
  }
  const { length } = expandPrompt(prompt, subjects);
  if (prompt.length > MAX_PROMPT_CHARACTERS || length <= MAX_PROMPT_CHARACTERS) return;
  throw invalidParam(
    param,
    `The prompt has ${length} characters with the descriptors of its subjects filled in, and a model takes at most ${MAX_PROMPT_CHARACTERS}: name them less often, or shorten the descriptors.`,
    { limit: MAX_PROMPT_CHARACTERS, received: length },
  );
}

/** The prompt as the model receives it. Each mention becomes the descriptor of its subject, or the name without one. */
export function expandPrompt(prompt: string, subjects: readonly Subject[]): string {
  const words = new Map(subjects.map(({ name, descriptor }) => [name, descriptor ?? name]));
  return prompt.replace(MENTION, (mention, name: string) => words.get(name) ?? mention);
}

/** The assets that are sent with every call of generate and edit, in order. */
export function referencesOf(subjects: readonly Subject[]): string[] {
  return subjects.flatMap(({ referenceAssetIds }) => referenceAssetIds);
}

/** True when the step sends the subjects' pictures to its model. */
export function showsSubjects({ op }: { op: string }): boolean {
  return SUBJECT_OPS.includes(op);
}

/** The edited picture counts towards the pictures that the model accepts. */
function checkReferenceCount(
  step: AiStep,
  subjects: readonly Subject[],
  models: Models,
  param: string,
): void {
  const images = referencesOf(subjects).length + (step.op === 'edit' ? 1 : 0);
  const limit = findModel(models, step.model)?.maxInputImages ?? 0;
  if (subjects.length === 0 || images <= limit) return;
  const takes = limit === 0 ? 'takes no image' : `takes at most ${limit} images`;
  const message = `${step.op} on ${step.model} would be shown ${images} images, and the model ${takes}: send fewer references, or name another model.`;
  throw invalidParam(param, message, { limit, received: images });
}

function tooMany(param: string, what: string, limit: number, received: number): ApiError {
  const message = `${param} has ${received} ${what}: at most ${limit} are allowed across the preset.`;
  return invalidParam(param, message, { limit, received });
}
