import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { FailureEnvelope } from './envelope.ts';

/** /openapi.json from the routes' own schemas, and its pages at /docs. Register before any route is declared. */
export async function installOpenApi(app: FastifyInstance, version: string): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Darkroom',
        version,
        description: 'Image processing: synchronous transforms, jobs, presets, templates and webhooks.',
      },
      components: {
        securitySchemes: {
          apiKey: { type: 'apiKey', in: 'header', name: 'Authorization', description: '`ApiKey <API_KEY>`' },
          session: { type: 'http', scheme: 'bearer', description: 'A console session.' },
        },
      },
      security: [{ apiKey: [] }, { session: [] }],
    },
    transform: ({ schema, url, route }) => {
      const access = route.config?.access;
      const security = access === 'public' ? [] : access === 'session' ? [{ session: [] }] : undefined;
      const response = { ...(schema?.response as object), default: FailureEnvelope };
      return { schema: { ...schema, response, ...(security === undefined ? {} : { security }) }, url };
    },
  });
  app.addHook('onRoute', (route) => {
    if (route.url.startsWith('/docs')) route.config = { ...route.config, answers: '*/*' };
  });
  await app.register(swaggerUi, { routePrefix: '/docs' });
  app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger());
}
