// needs: server
import { monitorEventLoopDelay } from 'node:perf_hooks';
import t, { type Test } from 'tap';
import { ERROR_CODES, type ErrorCode } from '../../../src/platform/http/errors/errors.ts';
import { type Answer, startServer, type TestServer } from '../../support/harness.ts';

const MAX_BODY_BYTES = 8 * 1024 * 1024;
/** What fills a body, but for the fields that it needs. */
const FILL = MAX_BODY_BYTES - 64 * 1024;
/** What fills each field in turn: far more than any of them may have, and not so much that the test takes minutes. */
const FIELD_FILL = 384 * 1024;

interface Schema {
  $ref?: string;
  type?: string;
  maxLength?: number;
  maxItems?: number;
  properties?: Record<string, Schema>;
  oneOf?: Schema[];
}
interface JsonBody {
  schema: Schema;
  example?: Example;
  examples?: Record<string, { value: Example }>;
}
interface Operation {
  responses: Record<string, unknown>;
  security?: Record<string, unknown>[];
  requestBody?: { content: { 'application/json'?: JsonBody } };
}
type Example = Record<string, unknown> | unknown[];
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

interface Route {
  name: string;
  method: string;
  path: string;
  isOfSession: boolean;
  statuses: string[];
  example: Example;
  fields: Record<string, Schema>;
}

interface Large {
  name: string;
  body: Uint8Array<ArrayBuffer>;
  /** What no route may answer otherwise. */
  refusal?: { status: number; code: string; param?: string };
}

const bytesOf = (text: string) => new TextEncoder().encode(text);
const many = <T>(count: number, of: (at: number) => T) => Array.from({ length: count }, (_, at) => of(at));
const namesOf = (count: number) => Object.fromEntries(many(count, (at) => [`name${at}`, at]));
/** A list of one entry again and again, of about so many bytes. */
const listOf = (entry: unknown, bytes = FILL) =>
  many(Math.floor(bytes / (JSON.stringify(entry).length + 1)), () => entry);

/** Values that are too much for any route, as JSON: more names and values than a body may have. */
const NAMES = JSON.stringify(namesOf(40_000));
const VALUES = JSON.stringify(listOf(0, 2_100_000));
const ROWS = JSON.stringify(listOf({ a: 'x'.repeat(50) }));
const TEXT = JSON.stringify('x'.repeat(FILL));

/** One example, or several by name. */
const exampleOf = ({ example, examples = {} }: JsonBody): Example =>
  example ?? Object.values(examples)[0]?.value ?? {};

/** Every route of an account that takes JSON, as the service describes itself. */
function routesOf(document: Document): Route[] {
  const resolved = (schema: Schema): Schema =>
    schema.$ref === undefined
      ? schema
      : resolved(document.components.schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {});
  const fieldsOf = (schema: Schema): Record<string, Schema> => {
    const { properties = {}, oneOf = [] } = resolved(schema);
    return Object.assign({}, ...oneOf.map(fieldsOf), properties);
  };
  return Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, { requestBody, responses, security = [] }]) => {
      const json = requestBody?.content['application/json'];
      // Without a token, the interface of operators is not there.
      if (json === undefined || path.startsWith('/operator/')) return [];
      const fields = Object.entries(fieldsOf(json.schema)).map(([name, schema]) => [name, resolved(schema)]);
      return {
        name: `${method} ${path}`,
        ...{ method: method.toUpperCase(), path, example: exampleOf(json) },
        isOfSession: security.some((way) => 'session' in way),
        statuses: Object.keys(responses),
        fields: Object.fromEntries(fields),
      };
    }),
  );
}

/**
 * Bodies that no route takes: one with a field that it does not know, and one as large as a body may be. What refuses
 * the latter is the same for all routes, so each of them has one kind of it by turns.
 */
function refusedBodies({ example }: Route, turn: number): Large[] {
  const text = JSON.stringify(example);
  const beside = (more: string) =>
    Array.isArray(example)
      ? `${text.slice(0, -1)},{"more":${more}}]`
      : `${text.slice(0, -1)},"more":${more}}`;
  const tooLarge = { status: 413, code: 'payload_too_large', param: 'body' };
  const malformed = { status: 400, code: 'invalid_param', param: 'body' };
  const ofAnyRoute: (() => Large)[] = [
    () => ({
      name: 'too many bytes',
      body: bytesOf(text.padEnd(MAX_BODY_BYTES + 1)),
      refusal: tooLarge,
    }),
    () => ({ name: 'too many names', body: bytesOf(beside(NAMES)), refusal: tooLarge }),
    () => ({ name: 'too many values', body: bytesOf(beside(VALUES)), refusal: tooLarge }),
    () => ({ name: 'no end', body: bytesOf(beside(ROWS).slice(0, -1)), refusal: malformed }),
    () => ({ name: 'the largest unknown field', body: bytesOf(beside(TEXT)) }),
  ];
  const at = turn % ofAnyRoute.length;
  return [
    ...ofAnyRoute.slice(at, at + 1).map((large) => large()),
    { name: 'an unknown field', body: bytesOf(beside(JSON.stringify('x'.repeat(FIELD_FILL)))) },
  ];
}

/** Large values of each field: at its own bounds, and far past them. */
function largeFields({ example, fields }: Route): Large[] {
  if (Array.isArray(example)) return largeValues('entries', {}, listOf(example[0]));
  return Object.entries(fields).flatMap(([field, schema]) => {
    const sent = (value: unknown) => ({ ...example, [field]: value });
    const given = example[field];
    if (schema.type === 'string')
      return largeValues(
        field,
        schema,
        sent('x'.repeat(FIELD_FILL)),
        sent('x'.repeat(schema.maxLength ?? 0)),
      );
    if (schema.type === 'object')
      return largeValues(field, schema, sent(namesOf(18_000)), sent({ note: '\n'.repeat(FIELD_FILL) }));
    if (schema.type !== 'array') return [];
    const entries = listOf(Array.isArray(given) ? given[0] : { op: 'x' }, FIELD_FILL);
    return largeValues(
      field,
      schema,
      sent(entries),
      sent(entries.slice(0, schema.maxItems)),
      sent(listOf('x', FIELD_FILL)),
    );
  });
}

function largeValues(field: string, schema: Schema, ...values: unknown[]): Large[] {
  const bodies = new Set(values.map((value) => JSON.stringify(value)));
  return [...bodies].map((body) => ({
    name: `${field}, ${schema.type ?? 'list'} of ${body.length} bytes`,
    body: bytesOf(body),
  }));
}

/** The path with the ids of what the routes above it made from their own examples. */
async function pathFor(route: Route, routes: Route[], server: TestServer, key: string): Promise<string> {
  const [above = '', parameter, below = ''] = route.path.split(/\/\{(\w+)\}/);
  if (parameter === undefined) return route.path;
  const maker = routes.find(({ method, path }) => method === 'POST' && path === above);
  const made = await server.call(`/${above}`, { key, json: maker?.example });
  const { data = {} } = made.json ?? {};
  return `${above}/${data[parameter] ?? data.id ?? 'none'}${below}`;
}

const SMALL = '/jobs?dryRun=true';

t.test('the largest bodies that a route takes and refuses leave other callers their answers', async (t) => {
  const server = await startServer(t, { settings: { REQUESTS_PER_MINUTE: '1000000' } });
  const sender = await server.account({ plan: 'scale', credits: 0 });
  const other = await server.account();
  const signIn = { email: sender.email, password: sender.password };
  const { json: signedIn } = await server.call('/auth/sign-in', { json: signIn });
  const { json: document } = await server.call('//openapi.json');
  const routes = routesOf(document as Document);
  t.ok(routes.length >= 20, `${routes.length} routes`);
  const delay = monitorEventLoopDelay({ resolution: 2 });
  delay.enable();
  for (const [turn, route] of routes.entries()) {
    const path = await pathFor(route, routes, server, sender.key);
    const caller = route.isOfSession ? { session: signedIn.data.token } : { key: sender.key };
    for (const large of [...refusedBodies(route, turn), ...largeFields(route)]) {
      const name = `${route.name}: ${large.name}`;
      delay.reset();
      const [answer, beside] = await Promise.all([
        server.call(`/${path}`, {
          ...caller,
          method: route.method,
          type: 'application/json',
          body: large.body,
        }),
        server.call(SMALL, { key: other.key, json: { op: 'grayscale', imageCount: 1 } }),
      ]);
      t.equal(beside.status, 200, `${name}: the call beside it is answered`);
      checkAnswer(t, name, answer, route, large);
      t.comment(`${Math.round(delay.max / 1e6)} ms, ${answer.status} ${name}`);
    }
  }
});

function checkAnswer(t: Test, name: string, { status, json }: Answer, route: Route, large: Large): void {
  const { refusal } = large;
  if (refusal !== undefined) t.match({ status, ...json?.error }, refusal, `${name}: ${json?.error?.message}`);
  if (status < 400) {
    t.ok(route.statuses.includes(String(status)), `${name}: ${status} is documented`);
    return;
  }
  const { [json?.error?.code as ErrorCode]: known } = ERROR_CODES;
  t.ok(status < 500 && status === known?.status, `${name}: ${status} ${json?.error?.code}`);
  if (status === 400 || status === 413) t.type(json?.error?.param, 'string', `${name}: the field is named`);
}
