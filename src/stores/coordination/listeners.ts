export type Listener = (message: string) => void;

/** Who listens to which channel within this process. */
export class Listeners {
  readonly #byChannel = new Map<string, Set<Listener>>();

  /** Each call counts by itself, of the same function too. Returns the end, true when it left the channel empty. */
  add(channel: string, listener: Listener): () => boolean {
    const own: Listener = (message) => listener(message);
    const listeners = this.#byChannel.get(channel) ?? new Set();
    this.#byChannel.set(channel, listeners.add(own));
    return () => {
      if (!listeners.delete(own) || listeners.size > 0) return false;
      return this.#byChannel.delete(channel);
    };
  }

  /** Answers whether anybody listened. */
  deliver(channel: string, message: string): boolean {
    const listeners = [...(this.#byChannel.get(channel) ?? [])];
    for (const listener of listeners) listener(message);
    return listeners.length > 0;
  }
}
