import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { mediaTypeOf } from '../../platform/http/bodies/image-body.ts';
import { clientGoneSignal } from '../../platform/http/connection/client.ts';
import { ApiError } from '../../platform/http/errors/errors.ts';
import type { CallGate } from '../accounts/gate/gate.ts';
import { InProcessCalls } from './in-process.ts';

export interface McpRoutesOptions {
  gate: CallGate;
  /** Whether pages of an origin may call the API. */
  isKnownOrigin: (origin: string) => boolean;
}

const EVENT_STREAM = 'text/event-stream';

/**
 * Serves POST /mcp: the tools for agents, by the Model Context Protocol over streamable HTTP without sessions. Each
 * message is answered by itself, so any process of any host may answer it.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports
 */
export async function mcpRoutes(
  app: FastifyInstance,
  { gate, isKnownOrigin }: McpRoutesOptions,
): Promise<void> {
  const calls = new InProcessCalls(app);

  app.post(
    '/mcp',
    {
      config: { body: 'stream', responseType: EVENT_STREAM, takesBearerKey: true, check: refuseForeignPage },
      schema: { hide: true },
    },
    async (request, reply) => {
      const { accountId } = gate.requireCaller(request);
      const read = await readMessage(request);
      if ('refusal' in read) return reply.code(400).send(read.refusal);
      const { answerMessage } = await import('./protocol.ts');
      const client = clientGoneSignal(reply);
      const response = await answerMessage(asWebRequest(request, client), read.message, {
        sourceFor: (signal) => calls.sourceFor(request, accountId, signal),
        report: (fault) => request.log.error({ err: fault }, 'A tool failed'),
      });
      return sendResponse(reply, response);
    },
  );

  /**
   * Refuses pages of unknown origins, such as those that reach the service under a name of their own (DNS rebinding).
   */
  function refuseForeignPage({ headers: { origin } }: FastifyRequest): void {
    if (origin === undefined || isKnownOrigin(origin)) return;
    throw new ApiError(
      'forbidden',
      'Pages of this origin may not call the service: its operator names them in CORS_ORIGINS.',
      { param: 'Origin', details: { reason: 'origin' } },
    );
  }
}

/** A message, or the error for a body that is not a message. */
type ReadMessage = { message: unknown } | { refusal: object };

/** @throws ApiError payload_too_large for a body above the limits of JSON. */
async function readMessage(request: FastifyRequest): Promise<ReadMessage> {
  // The protocol itself refuses other types without reading their bodies.
  if (mediaTypeOf(request) !== 'application/json') return { message: undefined };
  try {
    const message = await request.readJson();
    if (!Array.isArray(message)) return { message };
    return { refusal: rpcError(-32_600, 'A batch is not supported: send one message per request.') };
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'invalid_param') throw error;
    return { refusal: rpcError(-32_700, error.message) };
  }
}

/** An error of JSON-RPC for a message whose id is not known. */
function rpcError(code: number, message: string) {
  return { jsonrpc: '2.0', error: { code, message }, id: null };
}

/** The request headers that the protocol reads. */
const READ_HEADERS = ['accept', 'content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name'];

function asWebRequest({ headers }: FastifyRequest, signal: AbortSignal): Request {
  const read = new Headers();
  for (const name of READ_HEADERS) {
    const value = headers[name];
    if (value !== undefined) read.set(name, String(value));
  }
  return new Request('http://localhost/mcp', { method: 'POST', headers: read, signal });
}

async function sendResponse(reply: FastifyReply, response: Response): Promise<FastifyReply> {
  const type = response.headers.get('content-type');
  reply.code(response.status);
  if (response.body === null || type === null) return reply.send();
  reply.type(type).header('cache-control', 'no-store');
  if (!type.startsWith(EVENT_STREAM)) return reply.send(Buffer.from(await response.arrayBuffer()));
  return reply.send(Readable.fromWeb(response.body as ReadableStream));
}
