import Fastify from 'fastify';

/**
 * The baseline of kept pictures: Fastify that answers the same bytes from memory, with nothing around them. It takes a
 * picture in base64 over IPC, and sends its URL.
 */
process.on('message', async ({ bytes, type }: { bytes: string; type: string }) => {
  const app = Fastify();
  const picture = Buffer.from(bytes, 'base64');
  app.get('/*', (_request, reply) => {
    reply.header('content-type', type).send(picture);
  });
  process.send?.(await app.listen({ host: '127.0.0.1', port: 0 }));
});
