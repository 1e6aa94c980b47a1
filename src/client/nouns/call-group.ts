import type { Transport } from '../transport.ts';

/** A group of calls of a client, such as those about jobs. */
export abstract class CallGroup {
  protected readonly transport: Transport;

  constructor(transport: Transport) {
    this.transport = transport;
  }
}
