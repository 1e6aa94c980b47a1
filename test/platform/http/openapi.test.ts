// needs: server
import t from 'tap';
import { ERROR_CODES } from '../../../src/platform/http/errors/errors.ts';
import { PASS_PARAMETERS } from '../../../src/product/catalogue/parameters.ts';
import { TRANSFORM_OPS } from '../../../src/product/transforms/transform-schema.ts';
import { sharedServer } from '../../support/harness.ts';

interface Schema {
  $ref?: string;
  oneOf?: Schema[];
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  discriminator?: object;
}

interface Operation {
  operationId: string;
  description?: string;
  tags: string[];
  parameters?: Array<{ name?: string; in?: string; schema?: Record<string, unknown>; $ref?: string }>;
  requestBody?: {
    content: Record<
      string,
      { schema: Schema; example?: object; examples?: Record<string, { value: object }> }
    >;
  };
  responses: Record<
    string,
    { $ref?: string; headers?: Record<string, unknown>; content?: Record<string, { schema: Schema }> }
  >;
}

const server = await sharedServer();
const { json: document, bytes } = await server.call('//openapi.json');
const operations: Array<Operation & { at: string }> = Object.entries<Record<string, Operation>>(
  document.paths,
).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ ...operation, at: `${method} ${path}` })),
);
const named = (name: string) => operations.find(({ operationId }) => operationId === name);

t.test('every operation has a name of its own, a known tag and the one form of a refusal', async (t) => {
  const names = operations.map(({ operationId }) => operationId);
  t.equal(new Set(names).size, names.length);
  const tags = document.tags.map(({ name }: { name: string }) => name);
  for (const { at, operationId, description, tags: own, responses } of operations) {
    t.match(operationId, /^[a-z][A-Za-z]+$/, at);
    t.match(description, /^[A-Z].* .*\w/, `${at} has a description`);
    t.equal(own.length, 1, `${at} has a tag`);
    t.ok(
      own.every((tag) => tags.includes(tag)),
      `${at} has a described tag`,
    );
    t.same(responses.default, { $ref: '#/components/responses/Failure' }, at);
  }
  t.same(document.components.schemas.ErrorCode.enum, Object.keys(ERROR_CODES));
  t.match(document.servers, [{ url: server.url }]);
});

t.test('every reference leads somewhere, and nothing is said of how it was made', async (t) => {
  const text = bytes.toString();
  for (const [, path = ''] of text.matchAll(/"\$ref":"#\/([^"]+)"/g)) {
    const target = path
      .split('/')
      .reduce<Record<string, unknown> | undefined>(
        (node, key) => node?.[key] as Record<string, unknown> | undefined,
        document,
      );
    t.ok(target, path);
  }
  t.notMatch(text, /x-route/);
});

t.test('what JSON calls send and get has a name', async (t) => {
  const isNamed = (schema: Schema): boolean =>
    '$ref' in schema ||
    (schema.oneOf?.every(isNamed) ?? (schema.items !== undefined && isNamed(schema.items)));
  for (const { at, requestBody, responses } of operations.filter((operation) =>
    operation.at.includes('/api/'),
  )) {
    const body = requestBody?.content['application/json']?.schema;
    t.ok(body === undefined || isNamed(body), `the body of ${at}`);
    for (const [status, { content }] of Object.entries(responses)) {
      const data = content?.['application/json']?.schema.properties?.data;
      t.ok(data === undefined || isNamed(data), `the data of ${status} of ${at}`);
    }
  }
});

t.test('shapes with a field object have it as their discriminator', async (t) => {
  const { schemas } = document.components;
  const kindOf = ({ $ref = '' }: Schema): string | undefined =>
    schemas[$ref.split('/').at(-1) ?? '']?.properties?.object?.enum?.[0];
  const found: object[] = [];
  JSON.stringify(document, (_key, value: Schema) => {
    const shapes = value?.oneOf ?? value?.anyOf ?? [];
    if (!shapes.some(kindOf)) return value;
    const mapping = Object.fromEntries(shapes.map((shape) => [kindOf(shape), shape.$ref]));
    t.same(Object.keys(value).sort(), ['discriminator', 'oneOf']);
    t.same(value.discriminator, { propertyName: 'object', mapping });
    found.push(mapping);
    return value;
  });
  const [job, estimate] = ['Job', 'JobEstimate'].map((name) => `#/components/schemas/${name}`);
  t.same(found, [{ job, estimate }]);
});

t.test('a transform is described with the parameters of every op, in the query and in JSON', async (t) => {
  const transform = named('transformImage');
  const query = new Map(transform?.parameters?.map((parameter) => [parameter.name, parameter.schema]));
  t.same(
    query.get('op')?.enum,
    TRANSFORM_OPS.map(({ op }) => op),
  );
  for (const { op, parameters } of TRANSFORM_OPS) {
    const own = document.components.schemas[`Transform_${op}`];
    t.same(Object.keys(own.properties.parameters.properties), Object.keys(parameters.properties), op);
    t.equal(own.additionalProperties, false);
    for (const name of Object.keys(parameters.properties)) t.ok(query.has(name), `${op}: ${name}`);
  }
  t.match(query.get('width'), { type: 'integer', maximum: 100_000 });
  t.match(query.get('quality'), { type: 'integer', minimum: 1, maximum: 100 });
  for (const name of Object.keys(PASS_PARAMETERS)) t.ok(document.components.schemas[`Pass_${name}`], name);
});

t.test('what a JSON body may hold is said where it is refused, and on the pages for clients', async (t) => {
  const bounds = /8 MB, 1,000,000 names and values \(200,000 rows of two fields\) and 20,000 different names/;
  const { InvalidBody, BodyTooLarge } = document.components.responses;
  t.match(InvalidBody.description, /nested too deeply/);
  t.match(BodyTooLarge.description, bounds);
  for (const { at, requestBody, responses } of operations) {
    const takesJson = requestBody?.content['application/json'] !== undefined;
    const refs = takesJson ? ['InvalidBody', 'BodyTooLarge'] : [];
    const named = [responses[400]?.$ref, responses[413]?.$ref].filter((ref) => ref !== undefined);
    t.same(
      named,
      refs.map((name) => `#/components/responses/${name}`),
      at,
    );
  }
  for (const page of ['errors', 'guidelines'])
    t.match((await server.call(`//docs/${page}.md`)).bytes.toString(), bounds, page);
  const ofJob = (await server.call('//docs/createJob.md')).bytes.toString();
  t.match(ofJob, /Answers 200, 201, 202; refusals are in/);
});

t.test('JSON at its bounds is taken, and past them refused as the pages say', async (t) => {
  const { key } = await server.account();
  const send = (parameters: object) =>
    server.call('/jobs?dryRun=true', { key, json: { op: 'no_such_op', parameters } });
  const rowsOf = (count: number) => Array.from({ length: count }, () => ({ a: 1, b: 2 }));
  const namesOf = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`name${at}`, at]));
  const nested = (deep: number) => JSON.parse(`${'['.repeat(deep)}${']'.repeat(deep)}`);
  for (const [name, past, code, limit] of [
    ['8 MB', { a: 'x'.repeat(8 * 1024 * 1024) }, 'payload_too_large', 8 * 1024 * 1024],
    ['rows', { rows: rowsOf(200_001) }, 'payload_too_large', 1_000_000],
    ['names', namesOf(26_000), 'payload_too_large', 20_000],
    ['levels', { a: nested(199) }, 'invalid_param', 200],
  ] as const) {
    const { json } = await send(past);
    t.match(json.error, { code, param: 'body', details: { limit } }, name);
  }
  for (const [name, within] of [
    ['rows', { rows: rowsOf(199_990) }],
    ['names', namesOf(19_000)],
    ['levels', { a: nested(198) }],
  ] as const)
    t.match((await send(within)).json.error, { code: 'invalid_param', param: /^(op|parameters)$/ }, name);
});

t.test('the page offers a transform first, and fills in no parameter of another op', async (t) => {
  const first = operations.find(({ tags }) => tags.includes('Images'));
  t.equal(first?.operationId, 'transformImage');
  for (const { name, schema, ...parameter } of first?.parameters ?? []) {
    t.notOk('contentMediaType' in (schema ?? {}), `${name} is no file`);
    t.equal('example' in parameter || 'examples' in parameter, name === 'op', `${name}`);
  }
});

t.test('headers of the service and Idempotency-Key are described where they count', async (t) => {
  t.ok(named('transformImage')?.responses[200]?.headers?.['X-Service-Warnings']);
  t.ok(named('createPreset')?.parameters?.some(({ $ref }) => $ref?.endsWith('/IdempotencyKey')));
  t.notOk(named('transformImage')?.parameters?.some(({ $ref }) => $ref?.endsWith('/IdempotencyKey')));
});

t.test('an example of a body keeps the contract that it stands in', async (t) => {
  const { key } = await server.account();
  for (const { op } of TRANSFORM_OPS) {
    const [example] = document.components.schemas[`Transform_${op}`].examples;
    const { status, json } = await server.call('/images/transform', { key, json: example });
    t.same([status, json.error.code], [404, 'asset_not_found'], `${op}: only its asset is made up`);
  }
});

t.test('the document can be had in part, and an unknown operation is named', async (t) => {
  const { json: part } = await server.call('//openapi.json?ops=createJob,getJob');
  const ids = Object.values<Record<string, Operation>>(part.paths).flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  );
  t.same(ids.sort(), ['createJob', 'getJob']);
  const text = JSON.stringify(part);
  for (const [, kind = '', name = ''] of text.matchAll(/"#\/components\/(\w+)\/([^"]+)"/g))
    t.ok(part.components[kind]?.[name], `${kind}/${name}`);
  t.notOk(part.components.schemas.TemplateData, 'what they do not need is left out');
  t.ok(text.length < bytes.length / 4, `${text.length} of ${bytes.length} characters`);
  const refused = await server.call('//openapi.json?ops=createJob,nothing');
  t.equal(refused.status, 400);
  t.match(refused.json.error, { param: 'ops', details: { received: ['nothing'] } });
  t.equal((await server.call('//openapi.json?form=soap')).status, 400);
});

t.test('?ops= that names nothing, or something unknown, is refused with what to send', async (t) => {
  const allowed = operations.map(({ operationId }) => operationId);
  for (const [ops, details, sentence] of [
    ['', { received: '', allowed }, /^ops is empty: name operationIds, such as ops=createJob,getJob/],
    [' , ', { received: ' , ', allowed }, /^ops is empty/],
    [
      'creatJob',
      { received: ['creatJob'], allowed },
      /creatJob: send operationIds .* Did you mean createJob\?$/,
    ],
  ] as const) {
    const { status, json } = await server.call(`//openapi.json?ops=${encodeURIComponent(ops)}`);
    t.equal(status, 400, ops);
    t.match(json.error, { code: 'invalid_param', param: 'ops', message: sentence, details });
  }
  t.equal((await server.call('//openapi.json?ops=createJob,')).status, 200);
});

t.test('?form=multipart keeps what its operations refer to, and nothing else', async (t) => {
  const { json: form } = await server.call('//openapi.json?form=multipart');
  t.same(Object.keys(form.paths), Object.keys(document.paths));
  t.same(Object.keys(form.webhooks), Object.keys(document.webhooks));
  t.same(form.components.securitySchemes, document.components.securitySchemes);
  const { securitySchemes: _, ...components } = form.components;
  const held = Object.entries<object>(components).flatMap(([kind, parts]) =>
    Object.keys(parts).map((name) => `#/components/${kind}/${name}`),
  );
  const referred = JSON.stringify(form).match(/#\/components\/[^"]+/g);
  t.same(held.sort(), [...new Set(referred)].sort());
  t.notOk(form.components.schemas.TransformRequest, 'JSON that this form leaves out');
  t.notMatch(JSON.stringify(form), /contentMediaType/, 'bytes are described as in OpenAPI 3.0');
  const { requestBody, responses } = form.paths['/api/v1/images/transform'].post;
  const binary = { type: 'string', format: 'binary' };
  t.match(requestBody.content['multipart/form-data'].schema.properties.file, binary);
  t.same(responses[200].content, { 'application/octet-stream': { schema: binary } });
  t.match(Object.keys(responses), ['200', '400', '413', '4XX', '5XX']);
});

t.test('the tags stand in the order in which newcomers need them', async (t) => {
  t.equal(document.tags[0].name, 'Images');
  t.equal(document.tags.at(-1).name, 'Health');
});
