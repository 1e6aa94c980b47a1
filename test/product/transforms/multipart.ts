import type { Answer } from '../../support/harness.ts';
import type { Calls } from './calls.ts';

const BOUNDARY = 'limit-of-parts';
export const MULTIPART = `multipart/form-data; boundary=${BOUNDARY}`;

export interface Part {
  name: string;
  value: string | Uint8Array;
  filename?: string;
  type?: string;
}

/** A multipart body, byte by byte as it goes over the wire. */
export function multipartOf(parts: Part[]): Uint8Array<ArrayBuffer> {
  const pieces = parts.flatMap(({ name, value, filename, type }) => [
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"`,
    filename === undefined ? '' : `; filename="${filename}"`,
    type === undefined ? '' : `\r\nContent-Type: ${type}`,
    '\r\n\r\n',
    value,
    '\r\n',
  ]);
  return new Uint8Array(
    Buffer.concat([...pieces, `--${BOUNDARY}--\r\n`].map((piece) => Buffer.from(piece as string))),
  );
}

/** POST /images/transform with a multipart body. */
export function sendParts({ server, key }: Calls, query: string, parts: Part[]): Promise<Answer> {
  const body = multipartOf(parts);
  return server.call(`/images/transform${query}`, { method: 'POST', key, body, type: MULTIPART });
}

export function filePart(value: Uint8Array, type = 'image/png'): Part {
  return { name: 'file', value, filename: 'a.png', type };
}

/** A part of a multipart answer. */
export interface SentPart {
  headers: Record<string, string>;
  body: Buffer;
}

/** The parts of a multipart answer. */
export function partsOf({ headers, bytes }: Answer): SentPart[] {
  const boundary = /boundary=(\S+)/.exec(headers.get('content-type') ?? '')?.[1];
  const text = bytes.toString('latin1');
  return text
    .split(`--${boundary}`)
    .slice(1, -1)
    .map((part) => {
      const [head = '', ...rest] = part.slice(2).split('\r\n\r\n');
      const lines = head.split('\r\n').map((line) => line.split(': '));
      const body = Buffer.from(rest.join('\r\n\r\n').slice(0, -2), 'latin1');
      return {
        headers: Object.fromEntries(lines.map(([name = '', value = '']) => [name.toLowerCase(), value])),
        body,
      };
    });
}
