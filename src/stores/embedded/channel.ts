/**
 * The wire of embedded mode: an API process calls services that live in the primary, over the cluster's own messages.
 * Arguments and answers are plain JSON. DuplicateKeyError and StoreUnavailableError arrive as themselves.
 */
export interface Channel {
  call(service: string, method: string, args: readonly unknown[]): Promise<unknown>;
  /** Events that the primary broadcasts for a service. Returns the end of the subscription. */
  on(service: string, listener: (event: unknown) => void): () => void;
}

/** The primary's end. */
export interface ChannelHost {
  provide(
    service: string,
    handler: (method: string, args: readonly unknown[], processId: number) => Promise<unknown>,
  ): void;
  broadcast(service: string, event: unknown): void;
}
