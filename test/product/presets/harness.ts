import root, { type Test } from 'tap';
import { type Answer, startServer, type TestServer } from '../../support/harness.ts';

const TINY_GIF = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';

/** Asserts a refusal by status, code and parameter. */
export function refused(t: Test, answer: Answer, status: number, code: string, param?: string, message = '') {
  const { error } = answer.json ?? {};
  t.same([answer.status, error?.code, error?.param], [status, code, param], `${message} ${error?.message}`);
  t.equal(answer.json?.success, false);
}

/** Steps that differ by one number, so that each is its own version. */
export const numbered = (number: number) => [{ op: 'resize', parameters: { width: number } }];

export const preset = { name: 'Small', steps: numbered(100) };

/** The id of a tiny picture that an account owns. */
export async function uploaded(server: TestServer, key: string): Promise<string> {
  const body = Uint8Array.from(Buffer.from(TINY_GIF, 'base64'));
  return (await server.call('/assets/upload', { key, body, type: 'image/gif' })).json.data.id;
}

/** Of the server below, whose clock moves a second with every call. */
let calls = 0;
let shared: Promise<TestServer> | undefined;

function startOnce(): Promise<TestServer> {
  const begin = Date.now();
  const settings = { REQUESTS_PER_MINUTE: '100000' };
  shared ??= startServer(root, { now: () => new Date(begin + calls * 1000), settings });
  return shared;
}

/** A new account on the one server that the tests of a file share: most of them take less time than a start. */
export async function start() {
  const server = await startOnce();
  const { key } = await server.account();
  function callAs(key: string) {
    return async (method: string, path: string, json?: unknown, headers: Record<string, string> = {}) => {
      calls += 1;
      return server.call(path, { method, key, headers, ...(json === undefined ? {} : { json }) });
    };
  }
  const call = callAs(key);
  async function create(fields: object = {}): Promise<{ id: string; slug: string }> {
    return (await call('POST', '/presets', { ...preset, ...fields })).json.data;
  }
  return { server, key, call, callAs, create };
}
