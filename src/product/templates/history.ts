import { isBuiltIn } from '../../platform/names/slugs.ts';
import { versionDataOf } from './answers.ts';
import type { TemplateData } from './schema.ts';
import type { TemplatesStore } from './store.ts';
import { type Template, versionOf } from './template.ts';

/** The versions of one batch: each may have 384 KB, and a template may have thousands. */
const BATCH = 16;

/** Every version of a template, newest first, read in batches. */
export async function* historyOf(
  store: TemplatesStore,
  accountId: string,
  template: Template,
): AsyncGenerator<TemplateData> {
  yield versionDataOf(versionOf(template));
  let below = isBuiltIn(template._id) ? 1 : template.version;
  while (below > 1) {
    const rows = await store.versionsBelow(accountId, template._id, below, BATCH);
    yield* rows.map(versionDataOf);
    below = rows.at(-1)?.version ?? 1;
  }
}
