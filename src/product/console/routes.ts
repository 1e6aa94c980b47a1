import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { sendStaticContent } from '../../platform/http/hooks/caching.ts';
import { varyBy } from '../../platform/http/hooks/cors.ts';
import { lazy } from '../../platform/http/lazy.ts';
import { staticRoutes } from '../../platform/http/static/files.ts';

/**
 * The content policy of console pages. It allows files and calls of this service only, and forbids inline scripts and
 * styles, frames, and turning text into HTML or script.
 */
const CONTENT_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // Result pictures are shown from object URLs.
  "img-src 'self' blob:",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');
const STATIC_PREFIX = '/console/static';
const HTML_TYPE = 'text/html; charset=utf-8';

/**
 * Serves GET /console and every path below it: always the same document, whose scripts draw the screen at the address.
 * The document contains no data of the account; its scripts get the data from the API.
 */
export async function consoleRoutes(app: FastifyInstance): Promise<void> {
  // The console is loaded at its first request, not at the start.
  const loadConsole = lazy(async () => {
    const { consoleDocument, openConsoleFiles, screenModuleOf } = await import('./files.ts');
    const files = openConsoleFiles(STATIC_PREFIX);
    const shells = new Map<string | undefined, string>();
    const shellAt = (path: string) => {
      const screen = screenModuleOf(path);
      const shell = shells.get(screen) ?? consoleDocument(files, screen);
      shells.set(screen, shell);
      return shell;
    };
    return { files, shellAt };
  });
  await app.register(staticRoutes, {
    prefix: STATIC_PREFIX,
    find: async (name) => (await loadConsole()).files.find(name),
  });
  const config = { responseType: 'text/html', compress: true } as const;
  const sendShell = async (request: FastifyRequest, reply: FastifyReply) => {
    reply.header('content-security-policy', CONTENT_POLICY).header('referrer-policy', 'no-referrer');
    // The header Cross-Origin-Opener-Policy separates the console from a page that opened it. When the user typed the
    // address, there is no such page, and the header would only make the browser start another process.
    varyBy(reply, 'sec-fetch-site');
    if (request.headers['sec-fetch-site'] !== 'none')
      reply.header('cross-origin-opener-policy', 'same-origin');
    return sendStaticContent(reply, HTML_TYPE, (await loadConsole()).shellAt(request.url));
  };
  for (const path of ['/console', '/console/*']) app.get(path, { config, schema: { hide: true } }, sendShell);
}
