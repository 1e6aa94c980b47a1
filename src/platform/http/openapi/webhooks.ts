import type { Node } from './document.ts';

const header = (name: string, description: string) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
});

const HEADERS = [
  header('webhook-id', 'The id of the event: the same at every attempt.'),
  header('webhook-timestamp', 'Unix seconds of the attempt.'),
  header(
    'webhook-signature',
    'By Standard Webhooks: `v1,` and the base64 of an HMAC-SHA256 with your secret.',
  ),
];

/**
 * The calls that the service makes: one operation for each type of event.
 * @param payloads the schemas of the bodies, by type.
 */
export function webhooksOf(payloads: Readonly<Record<string, object>>): Node {
  return Object.fromEntries(
    Object.entries(payloads).map(([type, schema]) => {
      const name = type.replace(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase());
      const post = {
        operationId: `on${name}`,
        summary: `${type} is delivered to an endpoint that subscribes to it`,
        tags: ['Webhooks'],
        security: [],
        parameters: HEADERS,
        requestBody: { required: true, content: { 'application/json': { schema } } },
        responses: { '2XX': { description: 'Taken. Every other answer is a failure, and is tried again.' } },
      };
      return [type, { post }];
    }),
  );
}
