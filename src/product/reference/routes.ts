import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../platform/http/errors/errors.ts';
import { sendStaticContent } from '../../platform/http/hooks/caching.ts';
import { varyBy } from '../../platform/http/hooks/cors.ts';
import { preferredType } from '../../platform/http/hooks/negotiation.ts';
import { lazy } from '../../platform/http/lazy.ts';
import type { DocumentNode } from '../../platform/http/openapi/document.ts';
import { staticRoutes } from '../../platform/http/static/files.ts';
import type { DocumentationPage } from '../../platform/pages/page.ts';
import type { OpDefinition } from '../catalogue/schema.ts';
import type { DocumentationFile } from './reference.ts';

interface ReferenceOptions {
  definitions: () => readonly OpDefinition[];
  guidelines: () => DocumentationPage;
}

const MARKDOWN_TYPE = 'text/markdown; charset=utf-8';
const HTML_TYPE = 'text/html; charset=utf-8';
const TEXT_TYPE = 'text/plain; charset=utf-8';
const STATIC_PREFIX = '/docs/static';
const JSON_TYPE = 'application/json; charset=utf-8';

/** The content policy of documentation pages: only files of this service, and no inline scripts or styles. */
const CONTENT_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // A form shows its result from a blob: address.
  "img-src 'self' blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * Serves GET /docs: the documentation as HTML, and as Markdown if the address ends in `.md` or the Accept header
 * prefers it. GET /llms.txt and /llms-full.txt serve it for language models.
 */
export async function referenceRoutes(app: FastifyInstance, options: ReferenceOptions): Promise<void> {
  // The documentation is loaded at its first request, not at the start.
  const reference = lazy(async () => {
    const { DocumentationTexts } = await import('./reference.ts');
    const document = app.swagger() as unknown as DocumentNode;
    const [definitions, guidelines] = [options.definitions(), options.guidelines()];
    return new DocumentationTexts({ document, definitions, guidelines }, STATIC_PREFIX);
  });

  /** Sends a page as HTML or Markdown, whichever the client prefers. */
  async function sendPage(
    request: FastifyRequest,
    reply: FastifyReply,
    requestedPath: string,
  ): Promise<FastifyReply> {
    const path = requestedPath.replace(/\.md$/, '');
    const isHtml = path === requestedPath && prefersHtml(request);
    const text = (await reference()).page(path, isHtml ? 'html' : 'markdown');
    if (text === undefined)
      throw new ApiError('not_found', 'There is no such page: GET /llms.txt lists them.', { param: 'page' });
    if (path === requestedPath) varyBy(reply, 'accept');
    if (isHtml) reply.header('content-security-policy', CONTENT_POLICY);
    return sendStaticContent(reply, isHtml ? HTML_TYPE : MARKDOWN_TYPE, text);
  }

  async function sendText(reply: FastifyReply, type: string, name: DocumentationFile) {
    return sendStaticContent(reply, type, (await reference()).file(name));
  }

  await app.register(staticRoutes, {
    prefix: STATIC_PREFIX,
    find: async (name) => (await reference()).files.find(name),
  });
  const pages = {
    config: { responseType: ['text/html', 'text/markdown', 'text/*'], compress: true },
    schema: { hide: true },
  } as const;
  const texts = { config: { responseType: 'text/*', compress: true } } as const;

  app.get('/docs', pages, async (_request, reply) => reply.redirect('/docs/', 302));
  app.get('/docs/', pages, async (request, reply) => sendPage(request, reply, 'index'));
  app.get<{ Params: { page: string } }>('/docs/:page', pages, async (request, reply) =>
    sendPage(request, reply, request.params.page),
  );
  app.get<{ Params: { shelf: string; page: string } }>(
    '/docs/:shelf/:page',
    pages,
    async (request, reply) => {
      const { shelf, page } = request.params;
      return sendPage(request, reply, `${shelf}/${page}`);
    },
  );
  app.get(
    '/docs/search.json',
    { config: { compress: true }, schema: { hide: true } },
    async (_request, reply) => sendText(reply, JSON_TYPE, 'search.json'),
  );
  app.get('/docs/skill.md', pages, async (_request, reply) => sendText(reply, MARKDOWN_TYPE, 'skill.md'));
  app.get(
    '/llms.txt',
    {
      ...texts,
      schema: {
        summary: 'The map for language models',
        description:
          'One line for each page of Markdown: of the rules, the errors, each op and each endpoint.',
      },
    },
    async (_request, reply) => sendText(reply, TEXT_TYPE, 'llms.txt'),
  );
  app.get('/llms-full.txt', { ...texts, schema: { hide: true } }, async (_request, reply) =>
    sendText(reply, TEXT_TYPE, 'llms-full.txt'),
  );
}

/** Whether a client prefers HTML to Markdown. A client without a preference gets HTML. */
function prefersHtml({ headers: { accept = '*/*' } }: FastifyRequest): boolean {
  return preferredType(accept, ['text/html', 'text/markdown', 'text/plain']) === 'text/html';
}
