import { success } from '../http/envelope.ts';
import { versionDataOf } from './answers.ts';
import { isBuiltIn } from './builtins/index.ts';
import type { TemplatesStore } from './store.ts';
import { type Template, type TemplateVersion, versionOf } from './template.ts';

/** Versions in memory at once: each may be 384 KB, and a template may have thousands. */
const BATCH = 16;

/**
 * The body of GET /templates/{id}/versions, newest first, piece by piece: the answer is not paged, so it is read
 * from the store only as fast as the caller takes it. A store that fails on the way breaks the connection.
 */
export async function* historyBody(
  store: TemplatesStore,
  accountId: string,
  template: Template,
): AsyncGenerator<string> {
  const [head, tail] = JSON.stringify(success('Versions listed.', [])).split('[]') as [string, string];
  yield `${head}[`;
  yield JSON.stringify(versionDataOf(versionOf(template)));
  if (!isBuiltIn(template._id)) {
    for await (const version of superseded(store, accountId, template)) {
      yield `,${JSON.stringify(versionDataOf(version))}`;
    }
  }
  yield `]${tail}`;
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
