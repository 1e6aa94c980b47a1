import type { Readable, Writable } from 'node:stream';

/**
 * The DevTools protocol over the browser's own pipe: JSON messages that end in a zero byte. No port is opened, and
 * the browser leaves when the pipe closes, so that it never outlives the process that owns it.
 */

/** The browser at the other end is gone: every call that was under way ends in this. */
export class BrowserGoneError extends Error {
  override readonly name = 'BrowserGoneError';
}

type Params = Record<string, unknown>;
type Listener = (params: Params) => void;

interface Pending {
  resolve: (result: unknown) => void;
  reject: (error: Error) => void;
}

interface Incoming {
  id?: number;
  method?: string;
  params?: Params;
  sessionId?: string;
  result?: unknown;
  error?: { message: string };
}

export class Connection {
  readonly #input: Writable;
  readonly #pending = new Map<number, Pending>();
  readonly #sessions = new Map<string, Session>();
  #lastId = 0;
  #unfinished: Buffer[] = [];
  #closed = false;

  constructor(input: Writable, output: Readable) {
    this.#input = input;
    output.on('data', (chunk: Buffer) => this.#read(chunk));
    output.on('close', () => this.close());
    output.on('error', () => this.close());
    input.on('error', () => this.close());
  }

  /** Calls a method of the browser, or of one session. The caller names the shape of the answer. */
  send<T = unknown>(method: string, params: Params = {}, sessionId?: string): Promise<T> {
    if (this.#closed) return Promise.reject(new BrowserGoneError(`The browser is gone before ${method}.`));
    this.#lastId += 1;
    const id = this.#lastId;
    const answer = new Promise<T>((resolve, reject) => {
      this.#pending.set(id, { resolve: resolve as (result: unknown) => void, reject });
    });
    this.#input.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return answer;
  }

  /** A session attached with `flatten`. */
  session(sessionId: string): Session {
    const session = new Session(this, sessionId);
    this.#sessions.set(sessionId, session);
    return session;
  }

  forget(session: Session): void {
    this.#sessions.delete(session.id);
  }

  /** Ends every call under way with BrowserGoneError, and refuses later ones. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const { reject } of this.#pending.values()) reject(new BrowserGoneError('The browser went away.'));
    this.#pending.clear();
    // Whoever waits for an event of a page, and not for an answer, hears of it as the protocol would tell it.
    for (const session of this.#sessions.values()) session.emit('Inspector.detached', {});
    this.#sessions.clear();
  }

  #read(chunk: Buffer): void {
    let rest = chunk;
    for (let end = rest.indexOf(0); end !== -1; end = rest.indexOf(0)) {
      const text = Buffer.concat([...this.#unfinished, rest.subarray(0, end)]).toString();
      this.#unfinished = [];
      rest = rest.subarray(end + 1);
      this.#dispatch(JSON.parse(text) as Incoming);
    }
    if (rest.length > 0) this.#unfinished.push(rest);
  }

  #dispatch(message: Incoming): void {
    if (message.id === undefined) {
      if (message.sessionId !== undefined && message.method !== undefined) {
        this.#sessions.get(message.sessionId)?.emit(message.method, message.params ?? {});
      }
      return;
    }
    const pending = this.#pending.get(message.id);
    this.#pending.delete(message.id);
    if (message.error === undefined) pending?.resolve(message.result);
    else pending?.reject(new Error(message.error.message));
  }
}

/** One attached target: a page. */
export class Session {
  readonly id: string;
  readonly #connection: Connection;
  readonly #listeners = new Map<string, Listener>();

  constructor(connection: Connection, id: string) {
    this.#connection = connection;
    this.id = id;
  }

  send<T = unknown>(method: string, params: Params = {}): Promise<T> {
    return this.#connection.send<T>(method, params, this.id);
  }

  /** One listener an event: a later one takes its place. */
  on(event: string, listener: Listener): void {
    this.#listeners.set(event, listener);
  }

  emit(event: string, params: Params): void {
    this.#listeners.get(event)?.(params);
  }
}
