/**
 * The protocol of embedded mode: an API process calls services in the primary through the messages of the cluster
 * module. Arguments and results are plain JSON. DuplicateKeyError and StoreUnavailableError keep their classes.
 */
export interface Channel {
  /** Rejects with StoreUnavailableError when the primary ends before or during the call. */
  call(service: string, method: string, args: readonly unknown[]): Promise<unknown>;
  /**
   * Subscribes to the events that the primary broadcasts for a service. Returns a function that ends the subscription.
   */
  on(service: string, listener: (event: unknown) => void): () => void;
}

/** The primary's end. */
export interface ChannelHost {
  /** The results of calls of a dead process are dropped. `processId` is the cluster's worker id. */
  provide(service: string, handler: ServiceHandler): void;
  /** Returns the number of receiving processes. */
  broadcast(service: string, event: unknown): number;
}

export type ServiceHandler = (
  method: string,
  args: readonly unknown[],
  processId: number,
) => Promise<unknown>;
