// needs: server
import t from 'tap';
import { sharedServer } from '../../support/harness.ts';
import { uploadPictures } from './jobs.ts';

const server = await sharedServer();
const account = await server.account({ plan: 'scale', credits: 1_000 });
const { key } = account;
const assetIds = await uploadPictures(server, account, 2);
const analyze = { op: 'analyze', model: 'sandbox-vision' };
const NONSENSE = { type: 'nonsense' };

t.test(
  'a schema that does not compile is refused by the name of its field, priced or submitted',
  async (t) => {
    const named = { name: 'With a schema' };
    const rows: [param: string, path: string, body: object][] = [
      ['parameters.schema', '/jobs?dryRun=true', { ...analyze, assetIds, parameters: { schema: NONSENSE } }],
      ['parameters.schema', '/jobs', { ...analyze, assetIds, parameters: { schema: { pattern: '(?=a)' } } }],
      [
        'variants[1].parameters.schema',
        '/jobs',
        { ...analyze, assetIds, variants: [{ parameters: {} }, { parameters: { schema: NONSENSE } }] },
      ],
      [
        'steps[1].parameters.schema',
        '/jobs',
        { assetIds, steps: [{ op: 'grayscale' }, { ...analyze, parameters: { schema: NONSENSE } }] },
      ],
      [
        'steps[0].parameters.schema',
        '/presets',
        { ...named, steps: [{ ...analyze, parameters: { schema: NONSENSE } }] },
      ],
    ];
    for (const [param, path, json] of rows) {
      const answer = await server.call(path, { key, json });
      t.equal(answer.status, 400, path);
      t.match(answer.json.error, { code: 'invalid_param', param, message: /The schema does not compile/ });
    }
  },
);

t.test(
  'an import lists presets whose schemas do not compile, and takes a bounded number of schemas',
  async (t) => {
    const presetOf = (schema: object) => ({ name: 'One', steps: [{ ...analyze, parameters: { schema } }] });
    const mixed = [presetOf({ type: 'object' }), presetOf(NONSENSE)];
    const { json } = await server.call('/presets/import', { key, json: mixed });
    t.match(json.data, {
      importedCount: 1,
      errors: [/^\[1\] steps\[0\]\.parameters\.schema: .*does not compile/],
    });
    const many = Array.from({ length: 21 }, (_, index) => presetOf({ title: String(index) }));
    const refused = await server.call('/presets/import', { key, json: many });
    t.equal(refused.status, 422);
    t.match(refused.json.error, { code: 'resource_limit_exceeded', details: { limit: 20, received: 21 } });
  },
);
