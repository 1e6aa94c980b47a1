// needs: server, browser
import t from 'tap';
import { type CallOptions, sharedServer } from '../../support/harness.ts';
import { redSquare } from '../../support/images.ts';

interface Media {
  schema: Record<string, unknown>;
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
}
interface Operation {
  operationId: string;
  security?: Array<Record<string, unknown>>;
  parameters?: Array<{ name: string; in: string; required?: boolean; example?: unknown; $ref?: string }>;
  requestBody?: { content: Record<string, Media> };
}

const server = await sharedServer();
const { json: document } = await server.call('//openapi.json');
const png = await redSquare();

/** What an example cannot promise, and what the call is told instead. */
const ELSEWHERE: Readonly<Record<string, { status: number; param?: string; why: string }>> = {
  putAssetContent: { status: 403, why: 'the address is signed, and comes from POST /api/v1/assets' },
  getResult: { status: 403, why: 'the address is signed, and comes from a transform' },
  signIn: { status: 401, why: 'a password is no example' },
  signInBrowser: { status: 403, why: 'only a page of the service signs in by a cookie' },
  signInByLink: { status: 403, why: 'only a page of the service signs in by a cookie' },
  'uploadAsset application/json': { status: 400, param: 'url', why: 'only the network knows the host' },
  createWebhookEndpoint: { status: 400, param: 'url', why: 'only the network knows the host' },
};
const SESSION_ALONE = 403;

/** The value that the page fills in; undefined if it has to invent one. */
function exampleOf({ schema, example, examples = {} }: Media): unknown {
  const { $ref } = schema as { $ref?: string };
  const named = $ref === undefined ? schema : document.components.schemas[$ref.split('/').at(-1) as string];
  return example ?? Object.values(examples)[0]?.value ?? named.examples?.[0];
}

/** The calls that the page makes of an operation as it opens: one for each kind of body. */
function* callsOf(path: string, method: string, { parameters = [], requestBody }: Operation) {
  const given = (place: string) => parameters.filter((one) => one.in === place && one.example !== undefined);
  const filled = given('path').reduce(
    (text, { name, example }) => text.replace(`{${name}}`, String(example)),
    path,
  );
  const query = new URLSearchParams(
    given('query').map(({ name, example }): [string, string] => [name, String(example)]),
  );
  const at = `/${filled}${query.size === 0 ? '' : `?${query}`}`;
  const types = Object.keys(requestBody?.content ?? {}).filter(
    (type) => type === 'image/png' || !type.startsWith('image/'),
  );
  for (const type of types.length === 0 ? [undefined] : types) {
    const call: CallOptions = { method: method.toUpperCase() };
    const media = type === undefined ? undefined : requestBody?.content[type];
    if (type === 'application/json' && media !== undefined) call.json = exampleOf(media);
    if (type === 'image/png') Object.assign(call, { body: png, type });
    if (type === 'multipart/form-data') {
      call.body = new FormData();
      for (const name of (media?.schema.required as string[] | undefined) ?? []) {
        call.body.set(name, new Blob([png], { type: 'image/png' }), 'photo.png');
      }
    }
    yield { at, type, call };
  }
}

t.test('every call of the page is good as it opens, with a key alone', async (t) => {
  const account = await server.account({ credits: 1_000 });
  const own = await server.account();
  let calls = 0;
  for (const [path, methods] of Object.entries<Record<string, Operation>>(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const { operationId, security, parameters = [] } = operation;
      const open = parameters.filter((one) => one.required === true && one.example === undefined);
      t.same(open, [], `${operationId}: what has to be given is filled in`);
      for (const { at, type, call } of callsOf(path, method, operation)) {
        calls += 1;
        if (type === 'application/json') t.not(call.json, undefined, `${operationId} has an example`);
        // What operators ask and change is of hosts, of which there are none here.
        if (path.startsWith('/operator/')) continue;
        const key = operationId === 'revokeOwnApiKey' ? own.key : account.key;
        const { status, json } = await server.call(at, { key, ...call });
        const what = `${call.method} ${at} ${type ?? ''}: ${status} ${json?.error?.message ?? ''}`;
        const elsewhere = ELSEWHERE[operationId] ?? ELSEWHERE[`${operationId} ${type}`];
        const inSession = security?.length === 1 && security[0] !== undefined && 'session' in security[0];
        if (inSession) t.equal(status, SESSION_ALONE, what);
        else if (elsewhere !== undefined) t.equal(status, elsewhere.status, `${what} (${elsewhere.why})`);
        else if (status !== 404) t.ok(status >= 200 && status < 300, what);
        else t.ok(/0{12}|example/.test(JSON.stringify([at, call.json])), `${what}: only its id is made up`);
      }
    }
  }
  t.ok(calls > 60, `${calls} calls`);
});
