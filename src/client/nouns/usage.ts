import type { Pages } from '../answers.ts';
import { listNamedCall } from '../calls.ts';
import type { Credits, LedgerEntry } from '../schema.ts';
import type { CallOptions } from '../transport.ts';
import { CallGroup } from './call-group.ts';

/** The usage of the account: what work was done, and what it cost. */
export class UsageReports extends CallGroup {
  /** Reads the usage by op, by API key or by day. */
  readonly read = this.methodWithQuery('GET /usage');

  credits(options?: CallOptions): Promise<Credits> {
    return this.send('GET /credits', {}, options);
  }

  /** Lists the movements of the balance, newest first. */
  ledger(options?: CallOptions): Pages<LedgerEntry> {
    return listNamedCall(this.transport, 'GET /credits/ledger', {}, options);
  }
}

/** The calls that the account made in the last hour, with any key or session. */
export class Requests extends CallGroup {
  /** Lists the calls, newest first. */
  readonly list = this.listMethodWithQuery('GET /requests');
  /** Reads a call by its `requestId`, which each response contains. */
  readonly get = this.methodWithId('GET /requests/{requestId}');
  /** Lists the refused calls in groups of the same cause, the most frequent group first. */
  readonly errors = this.methodWithQuery('GET /requests/errors');
}
