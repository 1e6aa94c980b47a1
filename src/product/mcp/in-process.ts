import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AdmissionQueue } from '../../imaging/images/admission.ts';
import type { PoolSlot } from '../../imaging/images/slots.ts';
import { MAX_UPLOAD_BYTES } from '../assets/limits.ts';
import type { InputSource } from './inputs.ts';
import { PublicInterface, type SendRequest } from './public-interface.ts';

/** The most tool calls of a process that hold a picture at the same time. */
const MAX_HOLDERS = 4;
const MAX_WAITING = 1_000;

/**
 * Sends tools' calls to the routes of this process as the caller of a request: with its credential, its address and its
 * request id. So each call is limited, charged, logged and refused like one that the caller sends directly.
 */
export class InProcessCalls {
  readonly #app: FastifyInstance;
  // A picture that a tool passes on is completely in memory, so few tools may hold one, and accounts take turns.
  readonly #holders = new AdmissionQueue({
    slots: MAX_HOLDERS,
    budgetBytes: MAX_HOLDERS * MAX_UPLOAD_BYTES,
    limits: () => ({ calls: MAX_WAITING }),
  });

  constructor(app: FastifyInstance) {
    this.#app = app;
  }

  /**
   * The input source for one tool call.
   * @param request has passed the gate.
   * @param signal aborts when nobody waits for the tool any more.
   */
  sourceFor(request: FastifyRequest, accountId: string, signal: AbortSignal): InputSource {
    const caller = { ...credentialOf(request), 'x-request-id': request.id };
    let held: PoolSlot | undefined;
    const send: SendRequest = async ({ method, path, headers, body, isPicture }) => {
      signal.throwIfAborted();
      if (isPicture) held ??= await this.#holders.acquire({ accountId, bytes: MAX_UPLOAD_BYTES, signal });
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

/** The headers of a credential in the form that the other routes accept: a key only by its own scheme. */
function credentialOf({ headers: { authorization, cookie = '' } }: FastifyRequest): Record<string, string> {
  // The gate has checked that a page of this service sent the cookie.
  if (authorization === undefined) return { cookie, 'x-console': '1' };
  return { authorization: authorization.trim().replace(/^bearer +(?=drk_)/i, 'ApiKey ') };
}
