// needs: documents
import t, { type Test } from 'tap';
import { ApiError } from '../../../src/platform/http/errors/errors.ts';
import { parseNewTemplate } from '../../../src/product/templates/rules.ts';
import {
  MAX_TEMPLATE_VERSIONS,
  MAX_TEMPLATES_PER_ACCOUNT,
  TemplatesStore,
} from '../../../src/product/templates/store.ts';
import type { Template } from '../../../src/product/templates/template.ts';
import { dyingAtUpdate, openDocuments } from '../../support/documents.ts';

const content = parseNewTemplate({ name: 'Card', html: '<p>0</p>', width: 10, height: 20 });
const at = (second: number) => new Date(Date.UTC(2025, 0, 1, 0, 0, second));

const openStore = async (t: Test) => new TemplatesStore(await openDocuments(t));

const drafts = (count: number) => Array.from({ length: count }, () => ({ content }));

async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'none';
  } catch (error) {
    if (error instanceof ApiError)
      return error.param === undefined ? error.code : `${error.code} on ${error.param}`;
    throw error;
  }
}

/** Writes html that names its predecessor, so that a version lost or skipped shows. */
const count = (current: Template) => ({ ...current, html: `<p>${Number(/\d+/.exec(current.html)) + 1}</p>` });

t.test('racing PUTs lose no version and issue no number twice', async (t) => {
  const store = await openStore(t);
  const { _id } = await store.insertOne('acc_a', { content }, at(0));
  const racers = Array.from({ length: 20 }, () => store.update('acc_a', _id, count, at(1)));
  const numbers = (await Promise.all(racers)).map((template) => template?.version ?? 0);
  t.same(
    numbers.sort((a, b) => a - b),
    Array.from({ length: 20 }, (_, index) => index + 2),
  );
  for (let version = 1; version <= 20; version++) {
    t.equal((await store.findVersion('acc_a', _id, version))?.html, `<p>${version - 1}</p>`);
  }
  t.match(await store.find('acc_a', _id), { version: 21, html: '<p>20</p>' });
  t.equal(await store.findVersion('acc_a', _id, 22), null);
});

t.test('a template keeps 200 versions, and a further PUT is refused', async (t) => {
  const store = await openStore(t);
  const { _id } = await store.insertOne('acc_a', { content }, at(0));
  for (let version = 2; version <= MAX_TEMPLATE_VERSIONS; version += 1)
    await store.update('acc_a', _id, count, at(1));
  t.equal(await codeOf(store.update('acc_a', _id, count, at(2))), 'resource_limit_exceeded');
  t.match(await store.find('acc_a', _id), { version: MAX_TEMPLATE_VERSIONS });
  t.equal((await store.findVersion('acc_a', _id, 1))?.html, '<p>0</p>', 'the first one stays');
});

t.test('a crash between keeping a version and moving on costs nothing', async (t) => {
  const documents = await openDocuments(t);
  const store = new TemplatesStore(documents);
  const { _id } = await store.insertOne('acc_a', { content }, at(0));

  const dying = new TemplatesStore(dyingAtUpdate(documents));
  await t.rejects(dying.update('acc_a', _id, count, at(1)), { message: 'The process died.' });
  t.match(await store.find('acc_a', _id), { version: 1, html: '<p>0</p>' });
  t.same(await store.findVersionsBelow('acc_a', _id, 1, 10), [], 'the row kept is not an older version');

  await store.update('acc_a', _id, (current) => ({ ...current, html: '<p>other</p>' }), at(2));
  t.match(await store.findVersion('acc_a', _id, 1), { html: '<p>0</p>', createdAt: at(0).toISOString() });
  t.match(await store.find('acc_a', _id), { html: '<p>other</p>', updatedAt: at(2).toISOString() });
});

t.test('thirty creates at 199 make exactly one template', async (t) => {
  const store = await openStore(t);
  await store.insert('acc_a', drafts(MAX_TEMPLATES_PER_ACCOUNT - 1), at(0));
  await store.insertOne('acc_b', { content }, at(0));
  const codes = await Promise.all(
    Array.from({ length: 30 }, () => codeOf(store.insertOne('acc_a', { content }, at(1)))),
  );
  t.equal(codes.filter((code) => code === 'none').length, 1);
  t.equal(codes.filter((code) => code === 'resource_limit_exceeded').length, 29);
  t.equal(await store.count('acc_a'), MAX_TEMPLATES_PER_ACCOUNT);
});

t.test('a deleted template gives its place back', async (t) => {
  const store = await openStore(t);
  const [first] = await store.insert('acc_a', drafts(MAX_TEMPLATES_PER_ACCOUNT), at(0));
  t.equal(await codeOf(store.insertOne('acc_a', { content }, at(1))), 'resource_limit_exceeded');
  t.ok(await store.remove('acc_a', first?._id ?? ''));
  t.equal(await codeOf(store.insertOne('acc_a', { content }, at(1))), 'none');
});

t.test('an import that would pass the limit stores nothing, also when it races another', async (t) => {
  const store = await openStore(t);
  t.equal(
    await codeOf(store.insert('acc_a', drafts(MAX_TEMPLATES_PER_ACCOUNT + 1), at(0))),
    'resource_limit_exceeded',
  );
  t.equal(await store.count('acc_a'), 0);
  const codes = await Promise.all([1, 2, 3].map(() => codeOf(store.insert('acc_a', drafts(90), at(0)))));
  const landed = codes.filter((code) => code === 'none').length;
  t.equal(await store.count('acc_a'), landed * 90);
  t.ok(landed <= 2);
});

t.test('racing creates of one name get one slug each; a sent slug goes to one of them', async (t) => {
  const store = await openStore(t);
  const made = await Promise.all(
    Array.from({ length: 8 }, () => store.insertOne('acc_a', { content }, at(0))),
  );
  const slugs = ['card', ...Array.from({ length: 7 }, (_, index) => `card-${index + 2}`)];
  t.same(made.map(({ slug }) => slug).sort(), slugs);
  const sent = Array.from({ length: 8 }, () =>
    codeOf(store.insertOne('acc_a', { content, slug: 'mine' }, at(0))),
  );
  const codes = await Promise.all(sent);
  t.equal(codes.filter((code) => code === 'none').length, 1);
  t.equal(codes.filter((code) => code === 'invalid_param on slug').length, 7);
  t.equal((await store.insertOne('acc_b', { content, slug: 'mine' }, at(0))).slug, 'mine');
});

t.test('a PUT cannot take the slug of a neighbour, and keeps its own', async (t) => {
  const store = await openStore(t);
  const [one, two] = (await store.insert('acc_a', drafts(2), at(0))) as [Template, Template];
  const take = (slug: string) => store.update('acc_a', two._id, (current) => ({ ...current, slug }), at(1));
  t.equal(await codeOf(take(one.slug)), 'invalid_param on slug');
  t.equal((await store.find('acc_a', two._id))?.version, 1);
  t.equal((await take(two.slug))?.version, 2);
  t.equal((await take('new'))?.slug, 'new');
  t.equal(await store.find('acc_a', two.slug), null);
  t.equal((await store.find('acc_a', 'new'))?._id, two._id);
});

t.test('nothing is seen or changed of another account', async (t) => {
  const store = await openStore(t);
  const { _id, slug } = await store.insertOne('acc_a', { content }, at(0));
  for (const name of [_id, slug]) {
    t.equal(await store.find('acc_b', name), null);
    t.equal(await store.findVersion('acc_b', name, 1), null);
    t.equal(await store.update('acc_b', name, count, at(1)), null);
    t.notOk(await store.remove('acc_b', name));
  }
  t.same(await store.list('acc_b', { skip: 0 }, 10), []);
  t.equal((await store.find('acc_a', _id))?.version, 1);
});

t.test('a deleted template has no version left', async (t) => {
  const store = await openStore(t);
  const { _id, slug } = await store.insertOne('acc_a', { content }, at(0));
  await store.update('acc_a', _id, count, at(1));
  t.ok(await store.remove('acc_a', slug));
  t.notOk(await store.remove('acc_a', _id));
  t.equal(await store.findVersion('acc_a', _id, 1), null);
  t.same(await store.findVersionsBelow('acc_a', _id, 10, 10), []);
});

t.test('the listing goes by last update, whatever page it is read in', async (t) => {
  const store = await openStore(t);
  const made = await store.insert('acc_a', drafts(7), at(0));
  for (const [index, { _id }] of made.entries()) await store.update('acc_a', _id, count, at(index % 3));
  const all = await store.list('acc_a', { skip: 0 }, 100);
  const keys = all.map(({ updatedAt, _id }) => `${updatedAt} ${_id}`);
  t.same(keys, [...keys].sort().reverse());
  t.notOk('html' in (all[0] ?? {}));
  for (const size of [1, 2, 3]) {
    const walked: string[] = [];
    let from: Parameters<TemplatesStore['list']>[1] = { skip: 0 };
    for (let pages = 0; pages < 10; pages++) {
      const rows = await store.list('acc_a', from, size);
      const last = rows.at(-1);
      if (last === undefined) break;
      walked.push(...rows.map(({ _id }) => _id));
      from = { after: { updatedAt: last.updatedAt, id: last._id } };
    }
    t.same(
      walked,
      all.map(({ _id }) => _id),
      `pages of ${size}`,
    );
  }
});
