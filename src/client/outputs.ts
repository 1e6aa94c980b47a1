import { createDarkroomError, type DarkroomError, parseErrorEnvelope } from './errors.ts';
import { Picture } from './picture.ts';

/** Several pictures of one image. An output that failed has an error instead of a picture. */
export class Outputs {
  readonly pictures = new Map<string, Picture>();
  readonly errors = new Map<string, DarkroomError>();
  readonly requestId: string;

  /**
   * @param body the body of a multipart/mixed response of the service. Each part has its name and its length.
   */
  constructor(body: Uint8Array, headers: Headers) {
    this.requestId = headers.get('x-request-id') ?? '';
    for (const part of readParts(body, boundaryOf(headers))) {
      part.headers.set('x-request-id', this.requestId);
      const [, name = ''] = /;\s*name="([^"]*)"/.exec(part.headers.get('content-disposition') ?? '') ?? [];
      const sent = part.headers.get('content-type')?.startsWith('application/json')
        ? parseErrorEnvelope(new TextDecoder().decode(part.bytes))
        : undefined;
      if (sent === undefined)
        this.pictures.set(
          name,
          new Picture(new Response(part.bytes as Uint8Array<ArrayBuffer>), part.headers),
        );
      else this.errors.set(name, createDarkroomError({ status: 0, ...sent }));
    }
  }

  /**
   * The picture with this name.
   * @throws DarkroomError that says why the picture was not made.
   */
  get(name: string): Picture {
    const picture = this.pictures.get(name);
    if (picture === undefined) throw this.errors.get(name) ?? new TypeError(`There is no output ${name}.`);
    return picture;
  }
}

const CARRIAGE_RETURN = 0x0d;

function boundaryOf(headers: Headers): string {
  const [, boundary = ''] = /boundary="?([^";]+)/.exec(headers.get('content-type') ?? '') ?? [];
  return boundary;
}

/**
 * Yields the parts of a body (RFC 2046, 5.1), each as a view into the body. Only the heads of the parts are searched,
 * and no bytes are copied.
 */
function* readParts(body: Uint8Array, boundary: string): Generator<{ headers: Headers; bytes: Uint8Array }> {
  const decoder = new TextDecoder();
  let at = 0;
  while (startsWith(body, at, `--${boundary}\r\n`)) {
    const headStart = at + boundary.length + 4;
    const headEnd = headEndOffset(body, headStart);
    const lines = decoder.decode(body.subarray(headStart, headEnd)).split('\r\n');
    const headers = new Headers(
      lines.map((line): [string, string] => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon), line.slice(colon + 1).trim()];
      }),
    );
    const start = headEnd + 4;
    const end = start + Number(headers.get('content-length'));
    yield { headers, bytes: body.subarray(start, end) };
    at = end + 2;
  }
  if (!startsWith(body, at, `--${boundary}--`))
    throw new TypeError('The answer with several outputs is broken.');
}

function startsWith(body: Uint8Array, at: number, text: string): boolean {
  return new TextDecoder().decode(body.subarray(at, at + text.length)) === text;
}

/** The offset of the empty line that ends the head of a part. */
function headEndOffset(body: Uint8Array, from: number): number {
  for (let at = from; at !== -1; at = body.indexOf(CARRIAGE_RETURN, at + 1))
    if (startsWith(body, at, '\r\n\r\n')) return at;
  return body.length;
}
