type Listener = (message: string) => void;

/** The log for exceptions of listeners. */
export interface ListenerLog {
  error(context: object, message: string): void;
}

/** The log for callers without one, such as an operator's command: Node prints the error with its stack. */
const PRINTING_LOG: ListenerLog = {
  error: (context, message) => process.emitWarning(message, { detail: String(Reflect.get(context, 'err')) }),
};

/** The listeners of each channel within this process. */
export class ChannelListeners {
  readonly #log: ListenerLog;
  readonly #byChannel = new Map<string, Set<Listener>>();

  constructor(log: ListenerLog = PRINTING_LOG) {
    this.#log = log;
  }

  /**
   * Adds a listener; the same function can be added several times. Returns the function that removes it, which returns
   * true when the channel is then empty.
   */
  add(channel: string, listener: Listener): () => boolean {
    const own: Listener = (message) => listener(message);
    const listeners = this.#byChannel.get(channel) ?? new Set();
    this.#byChannel.set(channel, listeners.add(own));
    return () => listeners.delete(own) && listeners.size === 0 && this.#byChannel.delete(channel);
  }

  /**
   * Calls all listeners, and returns whether there were any. A listener that throws affects neither the others nor the
   * process.
   */
  deliver(channel: string, message: string): boolean {
    const listeners = [...(this.#byChannel.get(channel) ?? [])];
    for (const listener of listeners) {
      try {
        listener(message);
      } catch (error) {
        this.#log.error({ err: error, channel }, 'A listener failed at a message between processes');
      }
    }
    return listeners.length > 0;
  }
}
