import type { FastifyInstance } from 'fastify';
import { sendStanding } from './compression.ts';

/** The parts of the OpenAPI document that are read here. */
interface Description {
  paths?: Record<string, Record<string, { summary?: string; tags?: readonly string[] }>>;
}

/**
 * GET /llms.txt: what a language model reads first, as links with a sentence each. Made from the routes themselves.
 * @see https://llmstxt.org
 */
export async function llmsRoutes(app: FastifyInstance, options: { publicUrl: () => string }): Promise<void> {
  app.get(
    '/llms.txt',
    {
      config: { answers: 'text/*', compress: true },
      schema: { summary: 'The map for language models', tags: ['Health'] },
    },
    async (_request, reply) =>
      sendStanding(
        reply,
        'text/plain; charset=utf-8',
        llmsText(app.swagger() as Description, options.publicUrl()),
      ),
  );
}

function llmsText({ paths = {} }: Description, publicUrl: string): string {
  const byTag = new Map<string, string[]>();
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, { summary = '', tags = [] }] of Object.entries(methods)) {
      const [tag = 'Other'] = tags;
      const line = `- [${method.toUpperCase()} ${path}](${publicUrl}/docs): ${summary}`;
      byTag.set(tag, [...(byTag.get(tag) ?? []), line]);
    }
  }
  const sections = [...byTag].map(([tag, lines]) => `## ${tag}\n\n${lines.join('\n')}\n`);
  return `# Darkroom

> Image processing over HTTP: transforms, metadata, HTML templates as pictures, presets, assets.

Send \`Authorization: ApiKey <key>\` with every call. Every JSON answer is an envelope with \`success\`; a failure has \`error.code\` of a
closed set, \`error.param\` for the field to mend, and \`error.retryable\`. Read the guidelines before the first call.

## Start here

- [Guidelines for agents](${publicUrl}/api/v1/agent-guidelines): the rules of use, and every operation with an example
- [Operations](${publicUrl}/api/v1/ops): parameters, bounds, defaults and prices
- [OpenAPI 3.1](${publicUrl}/openapi.json): every endpoint with its schemas

${sections.join('\n')}`;
}
