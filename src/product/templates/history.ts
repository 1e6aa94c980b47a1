import { versionDataOf } from './answers.ts';
import { isBuiltIn } from './builtins/index.ts';
import type { TemplateData } from './schema.ts';
import type { TemplatesStore } from './store.ts';
import { type Template, type TemplateVersion, versionOf } from './template.ts';

/** The versions of one batch: each may have 384 KB, and a template may have thousands. */
const BATCH = 16;

/** Every version of a template, newest first, read in batches. */
export async function* historyOf(
  store: TemplatesStore,
  accountId: string,
  template: Template,
): AsyncGenerator<TemplateData> {
  yield versionDataOf(versionOf(template));
  if (isBuiltIn(template._id)) return;
  for await (const version of superseded(store, accountId, template)) yield versionDataOf(version);
}

async function* superseded(
  store: TemplatesStore,
  accountId: string,
  { _id, version }: Template,
): AsyncGenerator<TemplateVersion> {
  for (let below = version; below > 1; ) {
    const rows = await store.versionsBelow(accountId, _id, below, BATCH);
    yield* rows;
    below = rows.at(-1)?.version ?? 1;
  }
}
