type Listener = (message: string) => void;

/** Where the exceptions of listeners are written. */
export interface ListenerLog {
  error(context: object, message: string): void;
}

/** Without a log of the service, as in a command of the operator: Node prints it with its stack. */
const PRINTED: ListenerLog = {
  error: (context, message) => process.emitWarning(message, { detail: String(Reflect.get(context, 'err')) }),
};

/** The listeners of each channel within this process. */
export class Listeners {
  readonly #byChannel = new Map<string, Set<Listener>>();
  readonly #log: ListenerLog;

  constructor(log: ListenerLog = PRINTED) {
    this.#log = log;
  }

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

  /** Answers whether anybody listened. A listener that throws keeps the message from no other, and ends no process. */
  deliver(channel: string, message: string): boolean {
    const listeners = [...(this.#byChannel.get(channel) ?? [])];
    for (const listener of listeners) this.#tell(listener, channel, message);
    return listeners.length > 0;
  }

  #tell(listener: Listener, channel: string, message: string): void {
    try {
      listener(message);
    } catch (error) {
      this.#log.error({ err: error, channel }, 'A listener failed at a message between processes');
    }
  }
}
