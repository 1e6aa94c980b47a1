import { isDeepStrictEqual } from 'node:util';
import { stepInOwnSpelling } from '../catalogue/checks/spelling.ts';
import { readSubjects } from '../catalogue/plan/subjects.ts';
import type { Preset } from './preset.ts';
import { type ContentRules, checkedContent } from './rules.ts';
import type { PresetChange } from './schema.ts';
import type { Revision } from './store.ts';

/**
 * Merges a PUT into the current preset: sent fields replace current ones. Null when nothing changes. Unchanged steps
 * and subjects are not checked again, so that a rename works although one of their assets was deleted.
 * @throws ApiError invalid_param on the step, field or parameter at fault, or on subjects.
 */
export async function revisionOf(
  current: Preset,
  change: PresetChange,
  accountId: string,
  rules: ContentRules,
): Promise<{ revision: Revision; isNewVersion: boolean } | null> {
  const before: Revision = {
    slug: current.slug,
    name: current.name,
    description: current.description,
    steps: current.steps,
    subjects: current.subjects,
  };
  const sent = change.subjects;
  const subjects = sent === undefined ? before.subjects : readSubjects(sent, 'subjects');
  const { slug, name, description, steps: said } = { ...before, ...change };
  const steps = said.map(stepInOwnSpelling);
  // The comparison is of the stored form, because JSON has no -0.
  const revision: Revision = asStored({ slug, name, description, steps, subjects });
  if (isDeepStrictEqual(revision, before)) return null;
  const isNewVersion = !isDeepStrictEqual(
    [revision.steps, revision.subjects],
    [before.steps, before.subjects],
  );
  if (isNewVersion) await checkedContent(revision, accountId, rules);
  return { revision, isNewVersion };
}

function asStored(revision: Revision): Revision {
  return JSON.parse(JSON.stringify(revision));
}
