import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Transport } from '../../client/transport.ts';
import { AdmissionQueue } from '../../imaging/images/admission.ts';
import type { PoolSlot } from '../../imaging/images/slots.ts';
import { MAX_UPLOAD_BYTES } from '../assets/limits.ts';
import { type InputSource, readPicture } from './inputs.ts';

/** The maximum number of tool calls per process that hold a picture in memory at the same time. */
const MAX_PICTURE_HOLDING_CALLS = 4;
const MAX_WAITING_TOOL_CALLS = 1_000;
/** The base URL of calls within the process. No request leaves the process. */
const IN_PROCESS_URL = 'http://localhost';

/**
 * Sends the API calls of tools to the routes of this process, with the credential, the address and the request id of
 * the tool's caller. The service therefore limits, charges, logs and refuses them as if the caller had sent them.
 */
export class InProcessCalls {
  readonly #app: FastifyInstance;
  // Limits how many tool calls hold a picture, because a picture is in memory as a whole. Accounts are served in turn.
  readonly #pictureSlots = new AdmissionQueue({
    slots: MAX_PICTURE_HOLDING_CALLS,
    budgetBytes: MAX_PICTURE_HOLDING_CALLS * MAX_UPLOAD_BYTES,
    limits: () => ({ calls: MAX_WAITING_TOOL_CALLS }),
  });

  constructor(app: FastifyInstance) {
    this.#app = app;
  }

  /**
   * The input source for one tool call.
   * @param caller the HTTP request that calls the tool. It must have passed the gate.
   * @param signal aborts when nobody waits for the tool's result any more.
   */
  sourceFor(caller: FastifyRequest, accountId: string, signal: AbortSignal): InputSource {
    const fetch = (url: string | URL | Request, init?: RequestInit) =>
      this.#inject(new Request(url, init), caller, signal);
    // An empty key keeps the transport from reading one from the environment.
    const service = new Transport({ baseUrl: IN_PROCESS_URL, key: '', maxRetries: 0, fetch });
    let held: PoolSlot | undefined;
    return {
      service,
      uploadFile: null,
      readPicture: async (path) => {
        held ??= await this.#pictureSlots.acquire({ accountId, bytes: MAX_UPLOAD_BYTES, signal });
        return readPicture(path, service);
      },
      [Symbol.dispose]: () => held?.release(),
    };
  }

  async #inject(request: Request, caller: FastifyRequest, signal: AbortSignal): Promise<Response> {
    signal.throwIfAborted();
    const payload = Buffer.from(await request.arrayBuffer());
    const { statusCode, headers, rawPayload } = await this.#app.inject({
      ...{ method: request.method as 'GET', url: request.url.slice(IN_PROCESS_URL.length), signal },
      headers: {
        ...Object.fromEntries(request.headers),
        ...credentialHeaders(caller),
        'x-request-id': caller.id,
      },
      remoteAddress: caller.ip,
      ...(payload.length > 0 && { payload }),
    });
    return new Response(new Uint8Array(rawPayload), {
      status: statusCode,
      headers: Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]),
    });
  }
}

/** The credential headers in the form that the API routes accept: the scheme of an API key is always `ApiKey`. */
function credentialHeaders(request: FastifyRequest): Record<string, string> {
  const { authorization, cookie = '' } = request.headers;
  // The header x-console says that a page of this service sent the cookie. The gate has already checked this.
  if (authorization === undefined) return { cookie, 'x-console': '1' };
  return { authorization: authorization.trim().replace(/^bearer +(?=drk_)/i, 'ApiKey ') };
}
