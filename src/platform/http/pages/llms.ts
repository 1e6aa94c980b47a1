import type { FastifyInstance } from 'fastify';
import { sendStatic } from '../hooks/compression.ts';
import { type Node, operationsOf } from '../openapi/document.ts';

/**
 * GET /llms.txt: an overview for language models, as links with a sentence each, generated from the routes.
 * @see https://llmstxt.org
 */
export async function llmsRoutes(
  app: FastifyInstance,
  options: { opNames: readonly string[] },
): Promise<void> {
  app.get(
    '/llms.txt',
    {
      config: { responseType: 'text/*', compress: true },
      schema: {
        summary: 'The map for language models',
        description:
          'One line for each page of Markdown: of the rules, the errors, each op and each endpoint.',
      },
    },
    async (_request, reply) => {
      const text = llmsText(app.swagger() as unknown as Node, options.opNames);
      return sendStatic(reply, 'text/plain; charset=utf-8', text);
    },
  );
}

function llmsText(document: Node, opNames: readonly string[]): string {
  const tags = (document.tags ?? []) as Array<{ name: string }>;
  const byTag = new Map<string, string[]>(tags.map(({ name }) => [name, []]));
  for (const { path, method, operation } of operationsOf(document)) {
    // A PATCH is another name of the PUT beside it.
    if (method === 'patch') continue;
    const [tag = 'Other'] = (operation.tags ?? []) as string[];
    const page = `/docs/${operation.operationId}.md`;
    const line = `- [${method.toUpperCase()} ${path}](${page}): ${operation.summary ?? ''}`;
    byTag.set(tag, [...(byTag.get(tag) ?? []), line]);
  }
  const sections = [...byTag]
    .filter(([, lines]) => lines.length > 0)
    .map(([tag, lines]) => `## ${tag}\n\n${lines.join('\n')}\n`);
  return `# Darkroom

> Image processing over HTTP: transforms while you wait, text (OCR), QR and bar codes read, jobs, HTML templates as pictures, presets, assets, models, webhooks.

Send \`Authorization: ApiKey <key>\` with every call. Every JSON answer is an envelope with \`success\`; a failure has \`error.code\` of a
closed set, \`error.param\` for the field to fix, and \`error.retryable\`. Read the guidelines before the first call.

## Start here

- [Guidelines for agents](/docs/guidelines.md): how each kind of call is made, the rules, and every op with an example
- [Errors](/docs/errors.md): every code, and what to do about it
- [Catalogue](/api/v1/ops): parameters, bounds, defaults and prices as JSON; one op at /api/v1/ops/{op}
- [OpenAPI 3.1](/openapi.json): every endpoint and webhook; \`?ops=createJob,getJob\` for a part, \`?form=multipart\` for client generators

## Pages of ops

Each at /docs/ops/{op}.md: ${opNames.join(', ')}.

${sections.join('\n')}`;
}
