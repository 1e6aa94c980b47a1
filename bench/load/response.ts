import { readImageHeader } from '../../src/imaging/images/header/header.ts';
import type { CallResponse, Expectation, HttpCall, LoadCase } from './suite.ts';

/**
 * The error of a complete answer; null when the answer is right. It checks the status, the content type, the format and
 * width in the header of an image, and the case's own check. An empty answer is right only with status 204.
 */
export function errorOf(answer: CallResponse, call: HttpCall, loadCase: LoadCase): string | null {
  const { status } = answer;
  if (loadCase.expected?.includes(status)) return null;
  if (status < 200 || status >= 300) return refusalOf(status, answer.body.toString('utf8'));
  return contentError(answer, call.expects) ?? loadCase.check?.(answer, call) ?? null;
}

function contentError(answer: CallResponse, expects: Expectation | undefined): string | null {
  const { status, headers, body } = answer;
  if (status === 204 && expects === undefined) return null;
  const [type = ''] = (headers['content-type'] ?? '').split(';');
  const isExpected =
    expects === undefined
      ? type === 'application/json' || type.startsWith('image/')
      : type === expects.type || (expects.type === 'image/' && type.startsWith('image/'));
  if (!isExpected) return `type ${type || 'none'}`;
  if (body.length === 0) return 'empty answer';
  if (type === 'application/json') return isJson(body) ? null : 'not JSON';
  return type.startsWith('image/') ? imageError(type, body, expects?.width) : null;
}

/** Types of images whose headers can be read. */
const READABLE_TYPES = ['jpeg', 'png', 'webp', 'gif', 'avif', 'tiff', 'svg+xml'].map(
  (name) => `image/${name}`,
);

/** The error of an image; null if its header is readable, of the declared type, and has the expected width. */
function imageError(type: string, body: Buffer, width: number | undefined): string | null {
  const header = readImageHeader(body);
  if (READABLE_TYPES.includes(type) && header?.mimeType !== type)
    return header === null ? 'not an image' : `${header.mimeType} called ${type}`;
  if (width === undefined) return null;
  if (header === null) return 'not an image';
  return header.width === width ? null : `width ${header.width} instead of ${width}`;
}

function isJson(body: Buffer): boolean {
  try {
    JSON.parse(body.toString('utf8'));
    return true;
  } catch {
    return false;
  }
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
