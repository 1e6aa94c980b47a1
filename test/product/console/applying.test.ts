// needs: nothing
import t from 'tap';
import type { OpDefinition, PresetData } from '../../../src/client/schema.ts';
import {
  applyAlternative,
  applyFixToWork,
  replaceSteps,
} from '../../../src/product/console/browser/playground/applying.ts';
import { formValuesOfRow, rowOfFormValues } from '../../../src/product/console/browser/saved/row.ts';

/** What a refusal lists or names in place of a call, taken over by the playground and by what is saved. */
const definitions = new Map(
  [
    ['resize', ['width', 'quality', 'frames']],
    ['rotate', ['angle']],
  ].map(([op, names]) => [
    op,
    { op, params: Object.fromEntries([...(names ?? [])].map((name) => [name, {}])) },
  ]),
) as unknown as ReadonlyMap<string, OpDefinition>;
const steps = [
  { op: 'rotate', parameters: { angle: 90 } },
  { op: 'resize', parameters: { width: 40 } },
];
const presets = [{ slug: 'small', steps }] as unknown as readonly PresetData[];
const known = { definitions, presets };

t.test('a wrong name of a preset is put right', async (t) => {
  const fix = [{ param: 'preset', replace: 'small' }];
  t.same(applyFixToWork({ kind: 'preset', slug: 'smal' }, fix, undefined, known), {
    kind: 'preset',
    slug: 'small',
  });
});

t.test('a step of a preset that is refused is put right in its steps, and the preset stays', async (t) => {
  const fix = [{ param: 'steps[1].parameters.width', replace: 50 }];
  t.same(applyFixToWork({ kind: 'preset', slug: 'small' }, fix, undefined, known), {
    kind: 'steps',
    steps: [steps[0], { op: 'resize', parameters: { width: 50 } }],
    outputs: [],
  });
});

t.test('a row of a template is put right by the names of its fields', async (t) => {
  const work = {
    kind: 'template',
    id: 'tpl_1',
    data: { 'author.nam': 'Ann', title: 'A', tags: ['x'] },
  } as const;
  const fix = [{ param: 'data.author.nam', rename: 'data.author.name' }];
  t.same(applyFixToWork(work, fix, undefined, known), {
    kind: 'template',
    id: 'tpl_1',
    data: { 'author.name': 'Ann', title: 'A', tags: ['x'] },
  });
  const named = applyFixToWork(work, [{ param: 'templateId', replace: 'tpl_2' }], undefined, known);
  t.match(named, { id: 'tpl_2', data: { 'author.nam': 'Ann' } });
});

t.test('a row and its form lead to each other', async (t) => {
  for (const values of [{}, { a: 1 }, { 'a.b': 1, 'a.c.d': [1], e: null, '__proto__.x': 2 }])
    t.same(formValuesOfRow(rowOfFormValues(values)), values);
});

t.test('other parameters go to the first step that takes them, also of a preset', async (t) => {
  const instead = { parameters: { quality: 7 } };
  const corrected = [steps[0], { op: 'resize', parameters: { width: 40, quality: 7 } }];
  t.same(applyAlternative({ kind: 'preset', slug: 'small' }, instead, known), {
    kind: 'steps',
    steps: corrected,
    outputs: [],
  });
  t.same(applyAlternative({ kind: 'steps', steps, outputs: [] }, instead, known), {
    kind: 'steps',
    steps: corrected,
    outputs: [],
  });
  const outputs = [{ name: 'a', op: 'resize', parameters: { width: 10 } }];
  t.match(applyAlternative({ kind: 'steps', steps: [], outputs }, instead, known), {
    outputs: [{ name: 'a', parameters: { width: 10, quality: 7 } }],
  });
  t.same(replaceSteps(steps, instead, definitions), corrected);
  t.equal(replaceSteps(steps, { parameters: { nothing: 1 } }, definitions), steps);
  for (const work of [
    { kind: 'template', id: 'tpl_1', data: {} },
    { kind: 'op', op: 'metadata', values: {} },
    { kind: 'preset', slug: 'unknown' },
  ] as const)
    t.equal(applyAlternative(work, instead, known), work, 'nothing of it takes them');
});

t.test('other steps take the place of whatever was called', async (t) => {
  const whole = { kind: 'steps', steps: [{ op: 'rotate', parameters: {} }], outputs: [] };
  for (const work of [
    { kind: 'preset', slug: 'small' },
    { kind: 'op', op: 'x', values: {} },
  ] as const)
    t.same(applyAlternative(work, { steps: [{ op: 'rotate' }] }, known), whole);
});
