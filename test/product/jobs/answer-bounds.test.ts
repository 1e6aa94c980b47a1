// needs: server
import t from 'tap';
import { sharedServer } from '../../support/harness.ts';
import { ended, submit, uploadPictures } from './jobs.ts';

const names = Array.from({ length: 20 }, (_, index) => `p${index}`);
const self = { $ref: '#/$defs/a' };
const objects = {
  ...{ type: 'object', properties: { x: self }, required: ['x'] },
  $defs: {
    a: { type: 'object', properties: Object.fromEntries(names.map((name) => [name, self])), required: names },
  },
};

/** Six lists within each other, of 100 entries each. */
function lists(list: object): object {
  const inner = Array.from({ length: 6 }).reduce<object>((items) => ({ ...list, minItems: 100, items }), {});
  return { type: 'object', properties: { x: inner }, required: ['x'] };
}

t.test(
  'an answer of more values than any memory holds is refused, or ends its item with the reason',
  async (t) => {
    const server = await sharedServer();
    const account = await server.account({ credits: 100 });
    const assetIds = await uploadPictures(server, account, 1);
    const analyze = (schema: object) => ({
      ...{ op: 'analyze', model: 'sandbox-vision', assetIds, parameters: { schema } },
    });
    for (const schema of [lists({ type: 'array' }), objects]) {
      const { status, json } = await submit(server, account.key, analyze(schema));
      t.equal(status, 400);
      t.match(json.error, {
        code: 'invalid_param',
        param: 'parameters.schema',
        message: /more than 10000 values/,
      });
    }
    // Nothing says that these are lists, so null does.
    const untyped = await submit(server, account.key, analyze(lists({})));
    t.match(await ended(server, account.key, untyped.json.data.id), { status: 'COMPLETED' });
    const texts = { type: 'array', minItems: 100, items: { type: 'string', minLength: 10_000 } };
    const long = { type: 'object', properties: { texts }, required: ['texts'] };
    const answer = await submit(server, account.key, analyze(long));
    t.equal(answer.status, 201, JSON.stringify(answer.json));
    const { id } = answer.json.data;
    const [job, readiness] = await Promise.all([
      ended(server, account.key, id),
      server.call('/assets', { key: account.key }),
    ]);
    t.equal(readiness.status, 200);
    t.match(job, { status: 'FAILED', actualCredits: 0 });
    const items = await server.call(`/jobs/${id}/items`, { key: account.key });
    t.match(items.json.data, [
      { errorCode: 'provider_rejected', errorMessage: /larger than the sandbox makes/ },
    ]);
    const full = await submit(
      server,
      account.key,
      analyze({
        type: 'object',
        properties: { scores: { type: 'array', minItems: 5_000, items: { type: 'integer' } } },
      }),
    );
    t.match(
      await ended(server, account.key, full.json.data.id),
      { status: 'COMPLETED' },
      'a large one is made',
    );
  },
);
