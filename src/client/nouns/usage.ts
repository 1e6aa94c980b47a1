import type { Pages } from '../answers.ts';
import { listNamedCall, type QueryOf, readNamedCall } from '../calls.ts';
import type { Credits, LedgerEntry, RequestErrorGroup, RequestRecord, Usage } from '../schema.ts';
import type { CallOptions } from '../transport.ts';
import { CallGroup } from './call-group.ts';

/** The usage of the account: what work was done, and what it cost. */
export class UsageReports extends CallGroup {
  /** Reads the usage by op, by API key or by day. */
  read(query: QueryOf<'GET /usage'> = {}, options?: CallOptions): Promise<Usage> {
    return readNamedCall(this.transport, 'GET /usage', { query }, options);
  }

  credits(options?: CallOptions): Promise<Credits> {
    return readNamedCall(this.transport, 'GET /credits', {}, options);
  }

  /** Lists the movements of the balance, newest first. */
  ledger(options?: CallOptions): Pages<LedgerEntry> {
    return listNamedCall(this.transport, 'GET /credits/ledger', {}, options);
  }
}

/** The calls that the account made in the last hour, with any key or session. */
export class Requests extends CallGroup {
  /** Lists the calls, newest first. */
  list(query: QueryOf<'GET /requests'> = {}, options?: CallOptions): Pages<RequestRecord> {
    return listNamedCall(this.transport, 'GET /requests', { query }, options);
  }

  /** Reads a call by its `requestId`, which each response contains. */
  get(requestId: string, options?: CallOptions): Promise<RequestRecord> {
    return readNamedCall(this.transport, 'GET /requests/{requestId}', { path: { requestId } }, options);
  }

  /** Lists the refused calls in groups of the same cause, the most frequent group first. */
  errors(query: QueryOf<'GET /requests/errors'> = {}, options?: CallOptions): Promise<RequestErrorGroup[]> {
    return readNamedCall(this.transport, 'GET /requests/errors', { query }, options);
  }
}
