import type { OpDefinition } from '../schema.ts';
import type { CallOptions } from '../transport.ts';
import { CallGroup } from './call-group.ts';

/** The ops with their parameters, bounds and prices, as data. No key is needed. */
export class Catalogue extends CallGroup {
  async list(options?: CallOptions): Promise<OpDefinition[]> {
    return (await this.send('GET /ops', {}, options)) as OpDefinition[];
  }

  readonly get = this.methodWithId('GET /ops/{op}');
}
