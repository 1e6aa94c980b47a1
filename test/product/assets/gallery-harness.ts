import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import sharp from 'sharp';
import root, { type Test } from 'tap';
import { type Answer, type CallOptions, type ServerOptions, startServer } from '../../support/harness.ts';

export type Bytes = Uint8Array<ArrayBuffer>;

/** A picture that no other test has: 16 pixels of noise. */
export async function picture(format: 'png' | 'jpeg' | 'webp' = 'png'): Promise<Bytes> {
  const raw = { width: 4, height: 4, channels: 3 } as const;
  return new Uint8Array(await sharp(randomBytes(48), { raw }).toFormat(format).toBuffer());
}

export const SVG =
  '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10"><rect width="20" height="10" fill="red"/></svg>';

/** A server whose clock the test moves. */
export async function openGallery(t: Test, options: ServerOptions = {}) {
  const clock = { ms: Date.now() };
  const settings = { REQUESTS_PER_MINUTE: '100000', ...options.settings };
  const server = await startServer(t, { now: () => new Date(clock.ms), ...options, settings });

  /** Creates an account. @returns its calls. */
  async function newAccount(plan = 'scale') {
    const { id, key } = await server.account({ plan });
    const call = (path: string, call: CallOptions = {}) => server.call(path, { key, ...call });
    return {
      id,
      call,
      upload: (body: Bytes, query = '', type = 'image/png') =>
        call(`/assets/upload${query}`, { body, type, method: 'POST' }),
      async stored(body?: Bytes): Promise<string> {
        const answer = await call('/assets/upload', { body: body ?? (await picture()), type: 'image/png' });
        return answer.json.data.id;
      },
      async reserved(fields: object = {}) {
        const answer = await call('/assets', { json: { contentType: 'image/png', ...fields } });
        const { asset, upload } = answer.json.data;
        const put = (body: Bytes) =>
          server.call(ownPath(upload.url), { method: 'PUT', body, type: 'image/png' });
        return { id: asset.id as string, url: upload.url as string, put };
      },
    };
  }

  return {
    server,
    clock,
    newAccount,
    /** Keys of all objects of assets. */
    objects: () => server.stores.objects.listOlder('assets/', Number.MAX_SAFE_INTEGER, 10_000),
    /** Follows a link of an answer, without a credential. */
    follow: (url: string, call: CallOptions = {}) => server.call(ownPath(url), call),
  };
}

let shared: ReturnType<typeof openGallery> | undefined;

/**
 * The one server that tests of a file share, each with accounts of its own: most of them take less time than a start.
 * Its `objects` are those that were added since this call.
 */
export async function sharedGallery() {
  shared ??= openGallery(root);
  const gallery = await shared;
  const before = new Set(await gallery.objects());
  const objects = async () => (await gallery.objects()).filter((key) => !before.has(key));
  return { ...gallery, objects };
}

/** The path of a link to the server under test, as the harness takes paths. */
function ownPath(link: string): string {
  const { pathname, search } = new URL(link);
  return `/${pathname}${search}`;
}

/** Asserts a refusal by status, code and parameter. */
export function refused(t: Test, answer: Answer, status: number, code: string, param?: string, message = '') {
  const { error } = answer.json ?? {};
  t.same([answer.status, error?.code, error?.param], [status, code, param], `${message} ${error?.message}`);
}

/** How often each status was answered. */
export function tally(answers: readonly Answer[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** Waits, at most 400 times 25 ms, until a condition holds. @returns whether it does. */
export async function eventually(holds: () => Promise<boolean>): Promise<boolean> {
  for (let poll = 0; poll < 400; poll += 1) {
    if (await holds()) return true;
    await sleep(25);
  }
  return false;
}
