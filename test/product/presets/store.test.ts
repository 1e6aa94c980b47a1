// needs: documents
import t from 'tap';
import type { Preset } from '../../../src/product/presets/preset.ts';
import { type PresetDraft, PresetsStore } from '../../../src/product/presets/store.ts';
import { dyingAtUpdate, openDocuments, withBeforeUpdate } from '../../support/documents.ts';
import { numbered } from './harness.ts';

const at = (second: number) => new Date(Date.UTC(2025, 0, 1, 0, 0, second));

const draft: PresetDraft = {
  name: 'Small',
  description: '',
  slug: 'small',
  takesSuffix: true,
  version: 1,
  steps: numbered(1),
  subjects: [],
  history: [],
};

/** Moves on to steps that name the version. */
const next = async ({ slug, name, description, subjects, version }: Preset) => ({
  revision: { slug, name, description, subjects, steps: numbered(version + 1) },
  isNewVersion: true,
});

t.test('a crash between keeping a version and moving on costs nothing', async (t) => {
  const documents = await openDocuments(t);
  const store = new PresetsStore(documents);
  const { _id } = await store.insertOne('acc_a', draft, at(0));

  const dying = new PresetsStore(dyingAtUpdate(documents));
  await t.rejects(dying.update('acc_a', _id, next, at(1)), { message: 'The process died.' });
  const current = (await store.find('acc_a', _id)) as Preset;
  t.match(current, { version: 1, steps: numbered(1), superseded: [] });
  t.same(await store.findHistory('acc_a', current), [], 'the row kept is not an older version');

  const saved = (await store.update('acc_a', _id, next, at(2))) as Preset;
  t.match(saved, { version: 2, superseded: [1] });
  t.same(await store.findVersion('acc_a', saved, 1), {
    version: 1,
    steps: numbered(1),
    subjects: [],
    updatedAt: at(0).toISOString(),
  });
});

t.test('the deletion of a version that a save is just superseding leaves it to the save', async (t) => {
  const documents = await openDocuments(t);
  const store = new PresetsStore(documents);
  const { _id } = await store.insertOne('acc_a', draft, at(0));
  const removed: boolean[] = [];
  const remove = async () => removed.push(await store.removeVersion('acc_a', _id, 1));
  const saving = new PresetsStore(withBeforeUpdate(documents, remove));
  const saved = (await saving.update('acc_a', _id, next, at(1))) as Preset;
  t.same(removed, [false]);
  t.match(saved, { version: 2, superseded: [1] });
  t.match(await store.findVersion('acc_a', saved, 1), { version: 1, steps: numbered(1) });
  t.ok(await store.removeVersion('acc_a', _id, 1));
});

t.test('an import that finds no place leaves no version behind', async (t) => {
  const documents = await openDocuments(t);
  const store = new PresetsStore(documents);
  const taken = { ...draft, takesSuffix: false };
  await store.insertOne('acc_a', taken, at(0));
  const history = [{ version: 1, steps: numbered(1), subjects: [], updatedAt: at(0).toISOString() }];
  await t.rejects(store.insertOne('acc_a', { ...taken, version: 2, history }, at(1)), {
    code: 'invalid_param',
    param: 'slug',
  });
  const versions = documents.collection({ name: 'presetVersions', indexes: [] });
  t.equal(await versions.count({}), 0);
});

t.test('nothing is seen or changed of another account', async (t) => {
  const store = new PresetsStore(await openDocuments(t));
  const { _id, slug } = await store.insertOne('acc_a', draft, at(0));
  const moved = (await store.update('acc_a', _id, next, at(1))) as Preset;
  for (const name of [_id, slug]) {
    t.equal(await store.find('acc_b', name), null);
    t.equal(await store.update('acc_b', name, next, at(1)), null);
    t.notOk(await store.remove('acc_b', name));
  }
  t.equal(await store.findVersion('acc_b', moved, 1), null);
  t.same(await store.findHistory('acc_b', moved), []);
  t.notOk(await store.removeVersion('acc_b', _id, 1));
  t.same(await store.findAll('acc_b', [_id]), []);
  t.same(await store.listIds('acc_b'), []);
  t.ok(await store.findVersion('acc_a', moved, 1));
});
