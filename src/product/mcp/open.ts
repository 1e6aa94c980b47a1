import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { mediaTypeOf } from '../../platform/http/bodies/image-body.ts';
import { clientGoneSignal } from '../../platform/http/connection/client.ts';
import { ApiError } from '../../platform/http/errors/errors.ts';
import { lazy } from '../../platform/http/lazy.ts';
import type { ProductSlice } from '../../platform/http/slice.ts';
import type { CallGate } from '../accounts/gate/gate.ts';

interface McpOptions {
  gate: CallGate;
  publicUrl: () => string;
  settings: { CORS_ORIGINS: string };
}

const EVENT_STREAM_TYPE = 'text/event-stream';

/**
 * Opens the tools for agents. Their route is outside /api/v1. The tools use only the public API, so they need no other
 * slice.
 */
export function openMcp(options: McpOptions): Pick<ProductSlice, 'routes'> {
  return { routes: (app) => mcpRoutes(app, options) };
}

/**
 * Serves POST /mcp: the tools for agents over the Model Context Protocol (streamable HTTP without sessions). Each
 * message is answered independently of earlier ones, by any process of any host.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports
 */
async function mcpRoutes(app: FastifyInstance, { gate, publicUrl, settings }: McpOptions): Promise<void> {
  // The tools are loaded at the first message, not at the start.
  const loadTools = lazy(async () => {
    const [{ answerMessage }, { InProcessCalls }] = await Promise.all([
      import('./protocol.ts'),
      import('./in-process.ts'),
    ]);
    return { answerMessage, calls: new InProcessCalls(app) };
  });
  const allowedOrigins = new Set(settings.CORS_ORIGINS.split(','));

  app.post(
    '/mcp',
    {
      config: {
        body: 'stream',
        responseType: EVENT_STREAM_TYPE,
        takesBearerKey: true,
        check: refuseUnknownOrigin,
      },
      schema: { hide: true },
    },
    async (request, reply) => {
      const { accountId } = gate.requireCaller(request);
      const read = await readMessage(request);
      if ('refusal' in read) return reply.code(400).send(read.refusal);
      const { answerMessage, calls } = await loadTools();
      const clientSignal = clientGoneSignal(reply);
      const response = await answerMessage(toWebRequest(request, clientSignal), read.message, {
        sourceFor: (signal) => calls.sourceFor(request, accountId, signal),
        report: (fault) => request.log.error({ err: fault }, 'A tool failed'),
      });
      return sendResponse(reply, response);
    },
  );

  /**
   * Refuses requests from web pages with unknown origins. This prevents DNS rebinding, in which a page reaches the
   * service under a host name of its own.
   */
  function refuseUnknownOrigin({ headers: { origin } }: FastifyRequest): void {
    if (origin === undefined || allowedOrigins.has('*') || allowedOrigins.has(origin)) return;
    if (origin === new URL(publicUrl()).origin) return;
    const message = 'Pages of this origin may not call the service: its operator names them in CORS_ORIGINS.';
    throw new ApiError('forbidden', message, { param: 'Origin', details: { reason: 'origin' } });
  }
}

/** A parsed message, or the error for a body that is not a message. */
type ParsedMessage = { message: unknown } | { refusal: object };

/**
 * Reads the message in the body of a request.
 * @throws ApiError payload_too_large for a body above the limits of JSON.
 */
async function readMessage(request: FastifyRequest): Promise<ParsedMessage> {
  // The SDK of the protocol refuses other media types without reading the body, so the body is not read here.
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

/** A JSON-RPC error for a message without a known id. */
function rpcError(code: number, message: string) {
  return { jsonrpc: '2.0', error: { code, message }, id: null };
}

/** The request headers that the SDK of the protocol reads. */
const PROTOCOL_HEADERS = ['accept', 'content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name'];

function toWebRequest({ headers }: FastifyRequest, signal: AbortSignal): Request {
  const read = new Headers();
  for (const name of PROTOCOL_HEADERS) {
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
  if (!type.startsWith(EVENT_STREAM_TYPE)) return reply.send(Buffer.from(await response.arrayBuffer()));
  return reply.send(Readable.fromWeb(response.body as ReadableStream));
}
