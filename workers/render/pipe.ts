import type { Readable, Writable } from 'node:stream';
import type { ConnectOverCDPTransport } from 'playwright';

/**
 * Carries Playwright's messages over the browser's own pipe, as JSON that ends in a zero byte. No port is opened, and
 * the browser exits when the pipe closes, so that it never outlives the process that owns it.
 */
export class Pipe implements ConnectOverCDPTransport {
  onmessage?: (message: object) => void;
  onclose?: (reason?: string) => void;
  readonly #input: Writable;
  #unfinished: Buffer[] = [];
  #closed = false;

  constructor(input: Writable, output: Readable) {
    this.#input = input;
    output.on('data', (chunk: Buffer) => this.#read(chunk));
    output.on('close', () => this.close());
    output.on('error', () => this.close());
    input.on('error', () => this.close());
  }

  /**
   * Whether the browser at the other end is gone. Every call in progress has then ended, and later ones are rejected.
   */
  get closed(): boolean {
    return this.#closed;
  }

  send(message: object): void {
    if (this.#closed) throw new Error('The browser is gone.');
    this.#input.write(`${JSON.stringify(message)}\0`);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.onclose?.();
  }

  #read(chunk: Buffer): void {
    let rest = chunk;
    for (let end = rest.indexOf(0); end !== -1; end = rest.indexOf(0)) {
      const text = Buffer.concat([...this.#unfinished, rest.subarray(0, end)]).toString();
      this.#unfinished = [];
      rest = rest.subarray(end + 1);
      this.onmessage?.(JSON.parse(text) as object);
    }
    if (rest.length > 0) this.#unfinished.push(rest);
  }
}
