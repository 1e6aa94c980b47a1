import { type DocumentNode, operationsOf } from '../../platform/http/openapi/document.ts';
import { pageMarkdown } from '../../platform/pages/markdown.ts';
import type { DocumentationPage } from '../../platform/pages/page.ts';
import { GUIDE_PAGES } from './guides/index.ts';
import type { DocumentationLibrary } from './library.ts';

/** The tag of the endpoints for the operator of the service. */
const OPERATOR_TAG = 'Operator';

/**
 * An overview for language models: links with one sentence each, generated from the routes.
 * @see https://llmstxt.org
 */
export function llmsText(document: DocumentNode): string {
  const tags = (document.tags ?? []) as Array<{ name: string }>;
  const byTag = new Map<string, string[]>(tags.map(({ name }) => [name, []]));
  for (const { path, method, operation } of operationsOf(document)) {
    const [tag = 'Other'] = (operation.tags ?? []) as string[];
    // PATCH is left out, because it does the same as the PUT of its path. Calls of the operator are left out, because
    // agents cannot make them.
    if (method === 'patch' || tag === OPERATOR_TAG) continue;
    const page = `/docs/${operation.operationId}.md`;
    const line = `- [${method.toUpperCase()} ${shortPath(path)}](${page}): ${operation.summary ?? ''}`;
    byTag.set(tag, [...(byTag.get(tag) ?? []), line]);
  }
  const sections = [...byTag]
    .filter(([, lines]) => lines.length > 0)
    .map(([tag, lines]) => `## ${tag}\n\n${lines.join('\n')}\n`);
  return `# Darkroom

> Image processing over HTTP: transforms, text (OCR), codes, jobs, HTML templates as pictures, presets, assets, models, webhooks.

Send \`Authorization: ApiKey <key>\` with every call.

## Start here

- [Guidelines for agents](/docs/guidelines.md): every kind of call, the rules, every op
- [Errors](/docs/errors.md), [warnings](/docs/warnings.md): every code, and what to do about it
- [Catalogue](/api/v1/ops): 130 kB of JSON; names: ?view=names; one op: /api/v1/ops/{op}
- [OpenAPI 3.1](/openapi.json): every endpoint; \`?ops=createJob,getJob\` for a part
- [All guides and ops](/llms-full.txt): one text

## Pages

Guides at /docs/guides/{name}.md: ${Object.keys(GUIDE_PAGES).join(', ')}.
Ops at /docs/ops/{op}.md: the guidelines name them.
Paths without a slash are below /api/v1/.

${sections.join('\n')}`;
}

/**
 * A path without the prefix `/api/v1/`. Most paths have this prefix, and the text should be short, because models read
 * all of it.
 */
function shortPath(path: string): string {
  return path.replace(/^\/api\/v1\//, '');
}

/** The guidelines, the guides, the errors, the warnings and all ops, as one Markdown text. */
export function llmsFullText(library: DocumentationLibrary): string {
  const groups = library.groups.filter(({ group }) => group === 'Guides' || group === 'Ops');
  const pages = library
    .list(groups)
    .filter(({ path }) => path !== 'index' && path !== 'ops')
    .map(({ page }) => page);
  const codes = ['errors', 'warnings'].flatMap((path) => library.find(path) ?? []);
  return [...pages, ...codes].map((page) => pageMarkdown(page, { isShort: true })).join('\n');
}

/**
 * The guidelines as a skill: a file that agents with a shell store, and read when a task matches its description.
 * @see https://agentskills.io/specification
 */
export function skillText(guidelines: DocumentationPage): string {
  return `---
name: darkroom
description: Edits, converts, compresses, measures, reads, draws and generates pictures by calls of a Darkroom service. Use it for work on image files where DARKROOM_URL and DARKROOM_KEY are set.
---

Before the first command: \`BASE=$DARKROOM_URL KEY=$DARKROOM_KEY\`. Tell nobody the key.

${pageMarkdown(guidelines)}`;
}
