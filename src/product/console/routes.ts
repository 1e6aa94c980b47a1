import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { sendStaticContent } from '../../platform/http/hooks/caching.ts';
import { lazy } from '../../platform/http/lazy.ts';
import { staticRoutes } from '../../platform/http/static/routes.ts';
import { CONSOLE_CONTENT_POLICY } from './policy.ts';

const STATIC_PREFIX = '/console/static';
const HTML = 'text/html; charset=utf-8';

/**
 * Serves GET /console and every path below: one document, whose scripts draw the screen at the address. The document
 * contains no account's data: its scripts call the API, as every other program does.
 */
export async function consoleRoutes(app: FastifyInstance): Promise<void> {
  // The console is loaded at its first request, not at the start.
  const opened = lazy(async () => {
    const [{ openConsoleFiles, screenModuleOf }, { consoleDocument }] = await Promise.all([
      import('./files.ts'),
      import('./shell.ts'),
    ]);
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
    find: async (name) => (await opened()).files.find(name),
  });
  const config = { responseType: 'text/html', compress: true } as const;
  const sendShell = async (request: FastifyRequest, reply: FastifyReply) => {
    reply
      .header('content-security-policy', CONSOLE_CONTENT_POLICY)
      .header('cross-origin-opener-policy', 'same-origin')
      .header('referrer-policy', 'no-referrer');
    return sendStaticContent(reply, HTML, (await opened()).shellAt(request.url));
  };
  for (const path of ['/console', '/console/*']) app.get(path, { config, schema: { hide: true } }, sendShell);
}
