import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AdmissionQueue } from '../../imaging/images/admission.ts';
import type { PoolSlot } from '../../imaging/images/slots.ts';
import { mediaTypeOf } from '../../platform/http/bodies/image-body.ts';
import { clientGoneSignal } from '../../platform/http/connection/client.ts';
import { ApiError } from '../../platform/http/errors/errors.ts';
import type { ProductSlice } from '../../platform/http/slice.ts';
import type { CallGate } from '../accounts/gate/gate.ts';
import { MAX_UPLOAD_BYTES } from '../assets/limits.ts';
import type { InputSource } from './inputs.ts';
import { PublicInterface, type SendRequest } from './public-interface.ts';

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
  const calls = new InProcessCalls(app);
  const known = new Set(settings.CORS_ORIGINS.split(','));

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
      const { answerMessage } = await import('./protocol.ts');
      const client = clientGoneSignal(reply);
      const response = await answerMessage(toWebRequest(request, client), read.message, {
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
    if (origin === undefined || known.has('*') || known.has(origin)) return;
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

/** The maximum number of tool calls per process that hold a picture in memory at the same time. */
const MAX_PICTURE_HOLDERS = 4;
const MAX_WAITING_TOOL_CALLS = 1_000;

/**
 * Sends the API calls of tools to the routes of this process, with the credential, the address and the request id of
 * the tool's caller. Each of them is therefore limited, charged, logged and refused as if the caller had sent it.
 */
class InProcessCalls {
  readonly #app: FastifyInstance;
  // Limits how many tool calls hold a picture, because a picture is in memory as a whole. Accounts are served in turn.
  readonly #pictureSlots = new AdmissionQueue({
    slots: MAX_PICTURE_HOLDERS,
    budgetBytes: MAX_PICTURE_HOLDERS * MAX_UPLOAD_BYTES,
    limits: () => ({ calls: MAX_WAITING_TOOL_CALLS }),
  });

  constructor(app: FastifyInstance) {
    this.#app = app;
  }

  /**
   * The input source for one tool call.
   * @param request the HTTP request that calls the tool. It must have passed the gate.
   * @param signal aborts when nobody waits for the tool's result any more.
   */
  sourceFor(request: FastifyRequest, accountId: string, signal: AbortSignal): InputSource {
    const caller = { ...credentialHeaders(request), 'x-request-id': request.id };
    let held: PoolSlot | undefined;
    const send: SendRequest = async ({ method, path, headers, body, isPicture }) => {
      signal.throwIfAborted();
      if (isPicture)
        held ??= await this.#pictureSlots.acquire({ accountId, bytes: MAX_UPLOAD_BYTES, signal });
      const response = await this.#app.inject({
        ...{ method, url: path, signal, remoteAddress: request.ip },
        headers: { ...headers, ...caller },
        ...(body !== null && { payload: body }),
      });
      return {
        status: response.statusCode,
        headers: new Headers(Object.entries(response.headers).map(([name, value]) => [name, String(value)])),
        bytes: response.rawPayload,
      };
    };
    return {
      service: new PublicInterface(send, signal),
      files: null,
      [Symbol.dispose]: () => held?.release(),
    };
  }
}

/** The credential headers in the form that the API routes accept: the scheme of an API key is always `ApiKey`. */
function credentialHeaders(request: FastifyRequest): Record<string, string> {
  const { authorization, cookie = '' } = request.headers;
  // The header x-console says that a page of this service sent the cookie. The gate has already checked this.
  if (authorization === undefined) return { cookie, 'x-console': '1' };
  return { authorization: authorization.trim().replace(/^bearer +(?=drk_)/i, 'ApiKey ') };
}
