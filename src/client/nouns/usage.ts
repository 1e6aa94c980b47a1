import type { Pages } from '../answers.ts';
import { listNamedCall, type QueryOf, readNamedCall } from '../calls.ts';
import type { Credits, LedgerEntry, RequestErrorGroup, RequestRecord, Usage } from '../schema.ts';
import type { CallOptions, Transport } from '../transport.ts';

/** What was done, and what it cost. */
export class UsageReports {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** By op, by API key or by day. */
  read(query: QueryOf<'GET /usage'> = {}, options?: CallOptions): Promise<Usage> {
    return readNamedCall(this.#transport, 'GET /usage', { query }, options);
  }

  credits(options?: CallOptions): Promise<Credits> {
    return readNamedCall(this.#transport, 'GET /credits', {}, options);
  }

  /** The movements of the balance, newest first. */
  ledger(options?: CallOptions): Pages<LedgerEntry> {
    return listNamedCall(this.#transport, 'GET /credits/ledger', {}, options);
  }
}

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
