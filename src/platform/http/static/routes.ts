import type { FastifyInstance } from 'fastify';
import { ApiError } from '../errors/errors.ts';
import { sendStaticContent } from '../hooks/caching.ts';
import type { StaticFile } from './files.ts';

interface StaticOptions {
  /** The file with a served name; undefined if there is none. */
  find: (name: string) => Promise<StaticFile | undefined>;
}

const CACHE_CONTROL_FOREVER = 'public, max-age=31536000, immutable';

/** Serves GET {prefix}/{file}: a file that browsers may cache for ever, because its name contains its hash. */
export async function staticRoutes(app: FastifyInstance, { find }: StaticOptions): Promise<void> {
  app.get<{ Params: { file: string } }>(
    '/:file',
    { config: { responseType: '*/*', compress: true, isUncounted: true }, schema: { hide: true } },
    async (request, reply) => {
      const file = await find(request.params.file);
      if (file === undefined) {
        const message = 'There is no such file: load the page again, which names its files.';
        throw new ApiError('not_found', message, { param: 'file' });
      }
      return sendStaticContent(reply, file.type, file.body, CACHE_CONTROL_FOREVER);
    },
  );
}
