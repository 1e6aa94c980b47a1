// needs: server
import { Ajv2020 } from 'ajv/dist/2020.js';
import t from 'tap';
import { sharedServer } from '../support/harness.ts';

interface Operation {
  operationId: string;
  requestBody?: { content: Record<string, { schema: object }> };
  responses: Record<string, { content?: Record<string, { schema: object }> }>;
}

const MAX_CHARACTERS = 16_000;

t.test(
  'the page of each endpoint says how it is called and what it answers, with examples that fit',
  async (t) => {
    const server = await sharedServer();
    const { json: document } = await server.call('//openapi.json');
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    const fits = (schema: object, value: unknown) => {
      const validate = ajv.compile({ ...schema, components: document.components });
      return validate(value) ? '' : ajv.errorsText(validate.errors);
    };
    const { key } = await server.account({ credits: 1_000 });
    let examples = 0;
    for (const [path, methods] of Object.entries<Record<string, Operation>>(document.paths)) {
      for (const [method, { operationId, requestBody, responses }] of Object.entries(methods)) {
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
          const schema = title.startsWith('Body')
            ? requestBody?.content['application/json']?.schema
            : responses[title]?.content?.['application/json']?.schema;
          t.equal(fits(schema ?? {}, JSON.parse(text)), '', `${operationId}: ${title}`);
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
