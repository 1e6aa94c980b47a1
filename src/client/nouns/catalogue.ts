import { readNamedCall } from '../calls.ts';
import type { OpDefinition } from '../schema.ts';
import type { CallOptions } from '../transport.ts';
import { CallGroup } from './call-group.ts';

/** The ops with their parameters, bounds and prices, as data. No key is needed. */
export class Catalogue extends CallGroup {
  async list(options?: CallOptions): Promise<OpDefinition[]> {
    return (await readNamedCall(this.transport, 'GET /ops', {}, options)) as OpDefinition[];
  }

  get(op: string, options?: CallOptions): Promise<OpDefinition> {
    return readNamedCall(this.transport, 'GET /ops/{op}', { path: { op } }, options);
  }
}
