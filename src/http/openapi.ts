import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance, RouteOptions } from 'fastify';
import { sendStanding } from './compression.ts';
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
      const isOpen = access === 'public' || !url.startsWith('/api/');
      const security = isOpen ? [] : access === 'session' ? [{ session: [] }] : undefined;
      const response = { ...responsesOf(route), default: FailureEnvelope };
      const described = { ...schema, ...bodyOf(route), response };
      return { schema: security === undefined ? described : { ...described, security }, url };
    },
  });
  app.addHook('onRoute', (route) => {
    if (route.url.startsWith('/docs')) route.config = { ...route.config, answers: '*/*' };
  });
  await app.register(swaggerUi, { routePrefix: '/docs' });
  app.get('/openapi.json', { config: { compress: true }, schema: { hide: true } }, async (_request, reply) =>
    sendStanding(reply, 'application/json; charset=utf-8', JSON.stringify(app.swagger())),
  );
}

const BYTES = { type: 'string', format: 'binary' };

/** The forms of a body that a route reads itself. */
function bodyOf({ config = {} }: RouteOptions): { body?: object } {
  if (config.body !== 'stream') return {};
  const bytes = { 'image/*': { schema: BYTES } };
  if (config.reference === undefined) return { body: { content: bytes } };
  const form = {
    type: 'object',
    required: ['file'],
    properties: { file: BYTES },
    additionalProperties: true,
  };
  const json = { 'application/json': { schema: config.reference } };
  return { body: { content: { ...bytes, 'multipart/form-data': { schema: form }, ...json } } };
}

/** The answers of a route: its schemas, and beside the JSON of a success what else it makes. */
function responsesOf({ config = {}, schema }: RouteOptions): Record<string, unknown> {
  const responses = (schema?.response ?? {}) as Record<string, unknown>;
  if (config.answers === undefined) return responses;
  const schemaOfBytes = config.answers.startsWith('text/') ? { type: 'string' } : BYTES;
  const json = responses[200] === undefined ? {} : { 'application/json': { schema: responses[200] } };
  const content = { [config.answers]: { schema: schemaOfBytes }, ...json };
  return { ...responses, 200: { description: 'Success', content } };
}
