import { listNamedCall, type QueryOf, readNamedCall } from '../calls.ts';
import type { Pages } from '../pages.ts';
import type { Credits, LedgerEntry, Usage } from '../schema.ts';
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
