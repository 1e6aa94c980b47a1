/**
 * The wire of embedded mode: an API process calls services that live in the primary, over the cluster's own messages.
 * Arguments and answers are plain JSON. DuplicateKeyError and StoreUnavailableError arrive as themselves.
 */
export interface Channel {
  /** Rejects with StoreUnavailableError when the primary is gone, before or during the call. */
  call(service: string, method: string, args: readonly unknown[]): Promise<unknown>;
  /** Events that the primary broadcasts for a service. Returns the end of the subscription. */
  on(service: string, listener: (event: unknown) => void): () => void;
}

/** The primary's end. */
export interface ChannelHost {
  /**
   * A process that dies takes its questions along: their answers go nowhere. `processId` is the cluster's worker id.
   */
  provide(service: string, handler: ServiceHandler): void;
  /** Answers to how many processes the event went. */
  broadcast(service: string, event: unknown): number;
}

export type ServiceHandler = (
  method: string,
  args: readonly unknown[],
  processId: number,
) => Promise<unknown>;
