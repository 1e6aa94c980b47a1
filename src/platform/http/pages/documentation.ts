import type { FastifyInstance } from 'fastify';
import { JSON_BOUNDS } from '../bodies/json.ts';
import { ApiError, ERROR_CODES, type ErrorCode } from '../errors/errors.ts';
import { sendStatic } from '../hooks/compression.ts';
import { type Node, operationsOf } from '../openapi/document.ts';
import { type DocumentedOperation, endpointPage } from './endpoint-page.ts';
import { REMEDIES } from './remedies.ts';

interface PagesOptions {
  /** Returns the pages of the slices, by their path below /docs and without `.md`. */
  pages: () => Readonly<Record<string, string>>;
}

const MARKDOWN = 'text/markdown; charset=utf-8';

/** GET /docs/{name}.md: the documentation as Markdown, with a page for each op, each endpoint, and the errors. */
export async function pageRoutes(app: FastifyInstance, { pages }: PagesOptions): Promise<void> {
  const config = { responseType: 'text/*', compress: true } as const;
  let written: Map<string, string> | undefined;
  const pageOf = (name: string) => {
    written ??= new Map([
      ...Object.entries(pages()),
      ['errors', errorsPage()],
      ...endpointPages(app.swagger() as unknown as Node),
    ]);
    return written.get(name);
  };
  for (const path of ['/docs/:page', '/docs/ops/:page']) {
    app.get<{ Params: { page: string } }>(
      path,
      { config, schema: { hide: true } },
      async (request, reply) => {
        const name = /^(\w+)\.md$/.exec(request.params.page)?.[1] ?? '';
        const page = pageOf(path.startsWith('/docs/ops') ? `ops/${name}` : name);
        if (page === undefined) {
          throw new ApiError('not_found', 'There is no such page: GET /llms.txt lists them.', {
            param: 'page',
          });
        }
        return sendStatic(reply, MARKDOWN, page);
      },
    );
  }
}

function errorsPage(): string {
  const codes = Object.keys(ERROR_CODES) as ErrorCode[];
  const rows = codes.map((code) => {
    const { status, retryable } = ERROR_CODES[code];
    return `| ${code} | ${status} | ${retryable ? 'yes' : 'no'} | ${REMEDIES[code]} |`;
  });
  return `# Errors

A failure is \`{"success": false, "error": {"code", "message", "retryable", "param", "details", "requestId"}, "timestamp"}\`. Branch on the
code. When it is retryable, wait (Retry-After seconds, else longer each time) and make the same call with the same Idempotency-Key.
Otherwise fix the field in param; details has what is allowed, and a sub-reason in details.reason.

${JSON_BOUNDS} Beyond that is \`payload_too_large\`, and deeper nesting \`invalid_param\`.

| code | HTTP | retryable | what to do |
| --- | --- | --- | --- |
${rows.join('\n')}
`;
}

function endpointPages(document: Node): Array<[name: string, page: string]> {
  return operationsOf(document).map(({ path, method, operation }) => {
    const call = `${method.toUpperCase()} ${path}`;
    return [
      String(operation.operationId),
      endpointPage(call, operation as unknown as DocumentedOperation, document),
    ];
  });
}
