import { timingOfHeaders, type Warning, warningsOfHeaders } from './answers.ts';
import { asConnectionError } from './errors.ts';
import { nodeModule } from './runtime.ts';

/** Bytes that the service returned. They can be read as they arrive (`stream`), or as a whole (`bytes`, `blob`). */
export class Download {
  readonly contentType: string;
  /** The number of bytes; undefined if the service did not announce it. */
  readonly size: number | undefined;
  readonly requestId: string;
  readonly headers: Headers;
  readonly #response: Response;
  #bytes: Promise<Uint8Array> | undefined;

  /**
   * @param headers the headers of the picture, if it is only a part of the response. Default: those of the response.
   */
  constructor(content: Response, headers = content.headers) {
    this.contentType = headers.get('content-type') ?? 'application/octet-stream';
    this.size = numberInHeader(headers, 'content-length');
    this.requestId = headers.get('x-request-id') ?? '';
    this.headers = headers;
    this.#response = content;
  }

  /** Reads all bytes. */
  bytes(): Promise<Uint8Array> {
    this.#bytes ??= this.#response.arrayBuffer().then(
      (buffer) => new Uint8Array(buffer),
      (error) => Promise.reject(asConnectionError(error)),
    );
    return this.#bytes;
  }

  async blob(): Promise<Blob> {
    return new Blob([(await this.bytes()) as Uint8Array<ArrayBuffer>], { type: this.contentType });
  }

  /** The bytes as they arrive. They can be read only once, and not after a call of `bytes`, `blob` or `save`. */
  stream(): ReadableStream<Uint8Array> {
    if (this.#bytes !== undefined || this.#response.bodyUsed || this.#response.body === null)
      throw new TypeError('The bytes were read already: call bytes().');
    return withConnectionErrors(this.#response.body);
  }

  /** Writes the bytes to a file (Node, Deno, Bun). The file appears under its name only when it is complete. */
  async save(path: string): Promise<void> {
    const { rename, rm, writeFile } = nodeModule('node:fs/promises');
    const part = `${path}.part`;
    try {
      await writeFile(part, this.#bytes === undefined ? this.stream() : await this.#bytes);
      await rename(part, path);
    } catch (error) {
      await rm(part, { force: true });
      throw error;
    }
  }
}

/** A picture that the service made. */
export class Picture extends Download {
  /** The width of one frame, in pixels. */
  readonly width: number;
  readonly height: number;
  /** The format of the picture, such as `webp`. */
  readonly format: string;
  /** Warnings about the call, such as `not_enlarged`. */
  readonly warnings: Warning[];
  /** How long each phase took, in milliseconds: admit, fetch, queue, decode, process, encode, total. */
  readonly timing: Record<string, number>;
  /** For compress: the chosen quality, and how similar the picture is to the original. */
  readonly achieved: { quality?: number; ssim?: number; ssimulacra2?: number; trials?: number };

  constructor(content: Response, headers = content.headers) {
    super(content, headers);
    this.width = numberInHeader(headers, 'x-service-width') ?? 0;
    this.height = numberInHeader(headers, 'x-service-height') ?? 0;
    this.format = headers.get('x-service-format') ?? this.contentType.replace('image/', '');
    this.warnings = warningsOfHeaders(headers);
    this.timing = timingOfHeaders(headers);
    const achieved = ['quality', 'ssim', 'ssimulacra2', 'trials'].map((name) => [
      name,
      numberInHeader(headers, `x-service-${name}`),
    ]);
    this.achieved = Object.fromEntries(achieved.filter(([, value]) => value !== undefined));
  }
}

/** A stream of the same bytes. If the connection breaks, it fails with a ConnectionError. */
function withConnectionErrors(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader
          .read()
          .catch((error) => Promise.reject(asConnectionError(error)));
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

function numberInHeader(headers: Headers, name: string): number | undefined {
  const text = headers.get(name);
  return text === null ? undefined : Number(text);
}
