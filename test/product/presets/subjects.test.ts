// needs: nothing
import t from 'tap';
import { readModels } from '../../../src/product/models/models.ts';
import { parseRunnablePresetContent } from '../../../src/product/presets/rules.ts';

const edit = { op: 'edit', prompt: 'A portrait of {{subject.hero}} beside {{ subject.dog_2 }}' };
const subjects = [
  { name: 'hero', referenceAssetIds: ['ast_1', 'ast_2'], descriptor: 'x'.repeat(300) },
  { name: 'dog_2', referenceAssetIds: ['ast_3', 'ast_1'] },
];

/** An account that owns four assets. */
const own = ['ast_1', 'ast_2', 'ast_3', 'ast_4'];
const rules = {
  models: readModels(),
  findMissingAssets: async (accountId: string, ids: readonly string[]) =>
    ids.filter((id) => accountId !== 'acc_a' || !own.includes(id)),
  answerSchemas: { check: async () => {} },
};

t.test(
  'subjects with images of their own account are taken, without what does not belong to them',
  async (t) => {
    const sent = subjects.map((subject) => ({ ...subject, note: 'ignored' }));
    const content = await parseRunnablePresetContent({ steps: [edit], subjects: sent }, 'acc_a', rules);
    t.same(content, { steps: [edit], subjects });
  },
);

t.test("images that are missing, or another account's, are named", async (t) => {
  const strange = [{ name: 'hero', referenceAssetIds: ['ast_1', 'ast_9'] }];
  const steps = [{ ...edit, prompt: 'A portrait of {{subject.hero}}' }];
  await t.rejects(parseRunnablePresetContent({ steps, subjects: strange }, 'acc_a', rules), {
    code: 'invalid_param',
    param: 'subjects',
    details: { missing: ['ast_9'] },
  });
  await t.rejects(parseRunnablePresetContent({ steps: [edit], subjects }, 'acc_b', rules), {
    code: 'invalid_param',
    param: 'subjects',
    details: { missing: ['ast_1', 'ast_2', 'ast_3', 'ast_1'] },
  });
});

t.test('a prompt names the subjects that there are', async (t) => {
  const steps = [{ ...edit, prompt: 'A portrait of {{ subject.villain }}' }];
  await t.rejects(parseRunnablePresetContent({ steps, subjects }, 'acc_a', rules), {
    code: 'invalid_param',
    param: 'steps[0].prompt',
    details: { received: 'villain', allowed: ['hero', 'dog_2'] },
  });
});
