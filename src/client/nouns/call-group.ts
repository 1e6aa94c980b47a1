import type { Transport } from '../transport.ts';

/** The base class of the groups of calls that a client has, such as the calls about jobs. */
export abstract class CallGroup {
  protected readonly transport: Transport;

  constructor(transport: Transport) {
    this.transport = transport;
  }
}
