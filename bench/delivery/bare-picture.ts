import Fastify from 'fastify';

/**
 * The baseline for cached pictures: a Fastify server that answers the same bytes from memory and does nothing else. It
 * receives a picture as base64 over IPC, and sends its URL.
 */
process.on('message', async ({ bytes, type }: { bytes: string; type: string }) => {
  const app = Fastify();
  const picture = Buffer.from(bytes, 'base64');
  app.get('/*', (_request, reply) => {
    reply.header('content-type', type).send(picture);
  });
  process.send?.(await app.listen({ host: '127.0.0.1', port: 0 }));
});
