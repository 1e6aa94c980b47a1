// needs: server
import { Ajv2020 } from 'ajv/dist/2020.js';
import t from 'tap';
import { sharedServer } from '../support/harness.ts';

interface Operation {
  operationId: string;
  requestBody?: { content: Record<string, { schema: object }> };
}

const MAX_CHARACTERS = 16_000;

t.test(
  'the page of each endpoint says how it is called and what it answers, with examples that fit',
  async (t) => {
    const server = await sharedServer();
    const { json: document } = await server.call('//openapi.json');
    // The schemas that others name are compiled once for all of them.
    const ajv = new Ajv2020({ strict: false, validateFormats: false }).addSchema(document, 'document');
    const fits = (place: readonly string[], value: unknown) => {
      const names = place.map((name) => encodeURIComponent(name.replaceAll('/', '~1')));
      const validate = ajv.compile({ $ref: `document#/${names.join('/')}/content/application~1json/schema` });
      return validate(value) ? '' : ajv.errorsText(validate.errors);
    };
    const { key } = await server.account({ credits: 1_000 });
    let examples = 0;
    for (const [path, methods] of Object.entries<Record<string, Operation>>(document.paths)) {
      for (const [method, { operationId }] of Object.entries(methods)) {
        const { bytes, status } = await server.call(`//docs/${operationId}.md`);
        const page = bytes.toString();
        t.equal(status, 200, operationId);
        t.notMatch(page, /\$ref|#\/components/, `${operationId}: no reference that leads nowhere`);
        t.match(page, /```sh\ncurl /, `${operationId}: a line for the shell`);
        t.ok(page.length < MAX_CHARACTERS, `${operationId}: ${page.length} characters`);
        const sections = page.split(/^## /m).slice(1);
        for (const section of sections) {
          const [, title = ''] = /^(.*)\n/.exec(section) ?? [];
          const [, text] = /```json\n([\s\S]*?)\n```/.exec(section) ?? [];
          if (text === undefined) continue;
          const part = title.startsWith('Body') ? ['requestBody'] : ['responses', title];
          t.equal(fits(['paths', path, method, ...part], JSON.parse(text)), '', `${operationId}: ${title}`);
          examples += 1;
          if (!title.startsWith('Body')) continue;
          const sent = { method: method.toUpperCase(), key, json: JSON.parse(text) };
          const answer = await server.call(`/${path.replaceAll(/\{\w+\}/g, 'none')}`, sent);
          const { code, param, message } = answer.json?.error ?? {};
          // The hosts of examples are made up, as their ids are.
          t.ok(code !== 'invalid_param' || param === 'url', `${operationId}: ${message}`);
        }
      }
    }
    t.ok(examples > 70, `${examples} examples`);
    const job = (await server.call('//docs/getJob.md')).bytes.toString();
    for (const field of ['data.status', 'data.items[].resultAssetId', 'data.outcome'])
      t.match(job, `- ${field} (`);
  },
);

/** A part of a schema of the document, as far as the test follows it. */
interface Schema {
  $ref?: string;
  title?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  oneOf?: Schema[];
  anyOf?: Schema[];
  default?: unknown;
  [bound: string]: unknown;
}

const BOUNDS = ['minimum', 'maximum', 'maxLength', 'maxItems'];
/** The fields of its body are those of all ops, which have pages of their own. */
const TOO_MANY = ['transformImage'];

t.test(
  'the page of each endpoint with a body lists every field of it, with its bounds and default',
  async (t) => {
    const server = await sharedServer();
    const { json: document } = await server.call('//openapi.json');
    const resolved = (schema: Schema): Schema => {
      const { $ref, ...siblings } = schema;
      return $ref === undefined
        ? schema
        : { ...document.components.schemas[$ref.split('/').at(-1) ?? ''], ...siblings };
    };
    /** Each field by its path, three levels deep: deeper ones are those of steps within lists. */
    const fieldsOf = (schema: Schema, path = '', depth = 0): [string, Schema][] => {
      const { properties = {}, items, oneOf = [], anyOf = [] } = resolved(schema);
      if (depth > 3) return [];
      const own = Object.entries(properties).flatMap(([name, field]): [string, Schema][] => {
        const at = path === '' ? name : `${path}.${name}`;
        return [[at, resolved(field)], ...fieldsOf(field, at, depth + 1)];
      });
      const listed = items === undefined ? [] : fieldsOf(items, `${path}[]`, depth + 1);
      return [...own, ...listed, ...[...oneOf, ...anyOf].flatMap((one) => fieldsOf(one, path, depth))];
    };
    let fields = 0;
    for (const methods of Object.values<Record<string, Operation>>(document.paths)) {
      for (const { operationId, requestBody } of Object.values(methods)) {
        const schema = requestBody?.content['application/json']?.schema;
        if (schema === undefined || TOO_MANY.includes(operationId)) continue;
        const markdown = (await server.call(`//docs/${operationId}.md`)).bytes.toString();
        const body = markdown.split('## Body as application/json')[1]?.split(/^## /m)[0] ?? '';
        const html = (await server.call(`//docs/${operationId}`)).bytes.toString();
        for (const [path, field] of fieldsOf(schema as Schema)) {
          fields += 1;
          const lines = body.split('\n').filter((line) => line.startsWith(`- ${path} (`));
          t.ok(lines.length > 0, `${operationId}: ${path}`);
          t.match(html, `<code>${path}</code>`, `${operationId}: ${path} in HTML`);
          const bounds = BOUNDS.flatMap((name) => field[name] ?? []);
          if (field.const === undefined && field.enum === undefined)
            for (const bound of bounds)
              t.ok(
                lines.some((line) => line.includes(String(bound))),
                `${operationId}: ${path}: ${bound}`,
              );
          if (field.default !== undefined)
            t.ok(
              lines.some((line) => line.includes(`default ${field.default}`)),
              `${operationId}: ${path}`,
            );
        }
      }
    }
    t.ok(fields > 120, `${fields} fields`);
    const render = (await server.call('//docs/renderImage.md')).bytes.toString();
    t.match(render, /- html \(.*262,144 bytes \(256 KB\)/);
    t.match(render, /- css \(.*131,072 bytes \(128 KB\)/);
    t.match(render, /- width \(integer 1 to 4096/);
    const guide = (await server.call('//docs/guides/templates.md')).bytes.toString();
    t.match(guide, /262,144 bytes \(256 KB\).*131,072 bytes \(128 KB\).*1 to 4096 px/);
  },
);

t.test('the pages agree on the likeness that a search of the library finds', async (t) => {
  const server = await sharedServer();
  const page = async (id: string) => (await server.call(`//docs/${id}.md`)).bytes.toString();
  t.match(await page('listAssets'), /- distance \(integer 0 to 7, query\) .*default 6/);
  const compared = await page('compareImage');
  t.match(compared, /hashDistance \(.*similarTo finds those within 6, or within distance, at most 7/);
  t.notMatch(compared, /about 10/);
});
