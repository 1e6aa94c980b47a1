import { type ApiError, invalidParam } from '../http/errors.ts';
import {
  DESCRIPTOR_MAX_CHARACTERS,
  type PresetStep,
  REFERENCES_MAX,
  SUBJECT_NAME_PATTERN,
  SUBJECTS_MAX,
  type Subject,
} from './schema.ts';

/** The ops whose model is shown the subjects. */
const SUBJECT_OPS: readonly (string | undefined)[] = ['generate', 'edit'];

const NAME = new RegExp(SUBJECT_NAME_PATTERN);

/**
 * The subjects that were sent, when they keep their rules; whether their images exist is `checkNamedAssets`'.
 * @param param `subjects`, or the place of an earlier version's subjects.
 * @throws ApiError invalid_param on `param`.
 */
export function readSubjects(sent: readonly unknown[], param: string): Subject[] {
  if (sent.length > SUBJECTS_MAX) throw tooMany(param, 'subjects', SUBJECTS_MAX, sent.length);
  const subjects = sent.map((subject, index) => readSubject(subject, index, param));
  const names = subjects.map(({ name }) => name);
  const repeated = names.find((name, index) => names.indexOf(name) < index);
  if (repeated !== undefined) {
    throw invalidParam(param, `Two subjects have the name "${repeated}": give each its own.`, {
      received: repeated,
    });
  }
  const images = referencesOf(subjects).length;
  if (images > REFERENCES_MAX) throw tooMany(param, 'reference images', REFERENCES_MAX, images);
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
  if (typeof descriptor !== 'string' || [...descriptor].length > DESCRIPTOR_MAX_CHARACTERS) {
    throw refused(`has a descriptor that is not text of at most ${DESCRIPTOR_MAX_CHARACTERS} characters.`, {
      limit: DESCRIPTOR_MAX_CHARACTERS,
    });
  }
  return { name, referenceAssetIds, descriptor };
}

function isListOfIds(value: unknown): value is string[] {
  return Array.isArray(value) && value.length > 0 && value.every((id) => typeof id === 'string' && id !== '');
}

/**
 * Refuses subjects that no step shows to a model, and prompts that name a subject there is not.
 * @throws ApiError invalid_param on `<where>subjects` or `<where>steps[i].prompt`.
 */
export function checkSubjectsAreUsed(
  steps: readonly PresetStep[],
  subjects: readonly Subject[],
  where = '',
): void {
  if (subjects.length > 0 && !steps.some(({ op }) => SUBJECT_OPS.includes(op))) {
    const message = 'Only generate and edit steps show subjects to a model: add one, or leave subjects out.';
    throw invalidParam(`${where}subjects`, message);
  }
  const names = subjects.map(({ name }) => name);
  for (const [index, { prompt = '' }] of steps.entries()) {
    for (const [, name = ''] of prompt.matchAll(/\{\{\s*subject\.([^{}]*?)\s*\}\}/g)) {
      if (names.includes(name)) continue;
      const message = `The prompt names the subject "${name}", which is not among the subjects.`;
      throw invalidParam(`${where}steps[${index}].prompt`, message, { received: name, allowed: names });
    }
  }
}

function referencesOf(subjects: readonly Subject[]): string[] {
  return subjects.flatMap(({ referenceAssetIds }) => referenceAssetIds);
}

function tooMany(param: string, what: string, limit: number, received: number): ApiError {
  const message = `${param} has ${received} ${what}: at most ${limit} are allowed across the preset.`;
  return invalidParam(param, message, { limit, received });
}
