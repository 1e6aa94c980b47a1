import { listNamedCall, type QueryOf, readNamedCall } from '../calls.ts';
import type { Pages } from '../pages.ts';
import type { RequestErrorGroup, RequestRecord } from '../schema.ts';
import type { CallOptions, Transport } from '../transport.ts';

/** The calls of the account in the last hour, of every key and session. */
export class Requests {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Newest first. */
  list(query: QueryOf<'GET /requests'> = {}, options?: CallOptions): Pages<RequestRecord> {
    return listNamedCall(this.#transport, 'GET /requests', { query }, options);
  }

  /** A call by the `requestId` of its response. */
  get(requestId: string, options?: CallOptions): Promise<RequestRecord> {
    return readNamedCall(this.#transport, 'GET /requests/{requestId}', { path: { requestId } }, options);
  }

  /** The refused calls in groups of the same cause, the most frequent first. */
  errors(query: QueryOf<'GET /requests/errors'> = {}, options?: CallOptions): Promise<RequestErrorGroup[]> {
    return readNamedCall(this.#transport, 'GET /requests/errors', { query }, options);
  }
}
