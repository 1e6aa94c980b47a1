// needs: server
import t from 'tap';
import { RESERVED_ROUTE_WORDS } from '../../src/platform/ids/slugs.ts';
import { sharedServer } from '../support/harness.ts';

const server = await sharedServer();
const { key } = await server.account();

t.test('a preset or template named like a route gets a slug that can be read', async (t) => {
  const kinds: Array<[path: string, body: object]> = [
    ['presets', { steps: [{ op: 'flip' }] }],
    ['templates', { html: '<p>a</p>', width: 8, height: 8 }],
  ];
  for (const [path, body] of kinds) {
    const made = await server.call(`/${path}`, { key, json: { ...body, name: 'Import' } });
    t.same([made.status, made.json.data.slug], [201, 'import-2'], path);
    const read = await server.call(`/${path}/import-2`, { key });
    t.same([read.status, read.json.data?.id], [200, made.json.data.id], path);
    const refused = await server.call(`/${path}`, { key, json: { ...body, name: 'x', slug: 'import' } });
    t.same([refused.status, refused.json.error.param], [400, 'slug'], path);
    const renamed = await server.call(`/${path}/import-2`, { method: 'PUT', key, json: { slug: 'import' } });
    t.same([renamed.status, renamed.json.error.param], [400, 'slug'], path);
  }
});

t.test('every word of a route beside an id of a preset or a template is no slug', async (t) => {
  const { paths } = (await server.call('//openapi.json')).json as { paths: Record<string, unknown> };
  const words = Object.keys(paths).flatMap((path) => {
    const [, word] = /^\/api\/v1\/(?:presets|templates)\/([a-z-]+)$/.exec(path) ?? [];
    return word === undefined ? [] : [word];
  });
  t.same(new Set(words), RESERVED_ROUTE_WORDS);
});
