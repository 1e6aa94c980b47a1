import { readHeader } from '../../src/imaging/pixels/header/header.ts';
import type { Answer, Call, Expectation, LoadCase } from './suite.ts';

/**
 * The error of a complete answer, or null when it is right: its status, its content type, the width of its image by a
 * walk of the file's header, and the case's own check.
 */
export function errorOf(answer: Answer, call: Call, loadCase: LoadCase): string | null {
  const { status } = answer;
  if (loadCase.expected?.includes(status)) return null;
  if (status < 200 || status >= 300) return refusalOf(status, answer.body.toString('utf8'));
  return contentError(answer, call.expects) ?? loadCase.check?.(answer, call) ?? null;
}

function contentError({ status, headers, body }: Answer, expects: Expectation | undefined): string | null {
  const [type = ''] = (headers['content-type'] ?? '').split(';');
  if (expects === undefined) {
    const isUsual = status === 204 || type === 'application/json' || type.startsWith('image/');
    return isUsual ? null : `type ${type || 'none'}`;
  }
  if (type !== expects.type && !(expects.type === 'image/' && type.startsWith('image/')))
    return `type ${type || 'none'}`;
  if (expects.width === undefined) return null;
  const header = readHeader(body);
  if (header === null) return 'not an image';
  return header.width === expects.width ? null : `width ${header.width} instead of ${expects.width}`;
}

/** Names the error of a refusal by its body, such as `rate_limited/account_concurrency`. */
export function refusalOf(status: number, body: string): string {
  const [, code] = /"code":"(\w+)"/.exec(body) ?? [];
  const [, reason] = /"reason":"(\w+)"/.exec(body) ?? [];
  if (code === undefined) return `status ${status}`;
  return reason === undefined ? code : `${code}/${reason}`;
}

/** The parts of `admit;dur=0.4, fetch;dur=3.1`; an unreadable part is left out. */
export function readServerTiming(header: string | undefined): Record<string, number> {
  const parts: Record<string, number> = {};
  for (const [, name = '', ms = ''] of (header ?? '').matchAll(/([a-z]+);dur=([\d.]+)/g))
    parts[name] = Number(ms);
  return parts;
}
