// needs: nothing
import t from 'tap';
import { isBuiltIn, isReservedSlug, isSlug } from '../../../src/platform/ids/slugs.ts';
import { BUILT_INS, findBuiltIn } from '../../../src/product/templates/builtins/index.ts';
import { fill } from '../../../src/product/templates/document.ts';
import { newContent } from '../../../src/product/templates/rules.ts';
import { nameOf, optionalNames } from '../../../src/product/templates/variables.ts';

t.test('there are at least four built-ins, under reserved names', async (t) => {
  t.ok(BUILT_INS.length >= 4);
  t.equal(new Set(BUILT_INS.map(({ _id }) => _id)).size, BUILT_INS.length);
  for (const { _id, slug, version } of BUILT_INS) {
    t.match(_id, /^builtin-template-/);
    t.equal(slug, _id);
    t.ok(isSlug(slug) && isReservedSlug(slug));
    t.equal(version, 1);
    t.ok(isBuiltIn(_id) && findBuiltIn(_id)?.slug === slug);
  }
});

t.test('a built-in could have been created by a caller from its html and css', async (t) => {
  for (const { name, html, css, width, height, variables } of BUILT_INS) {
    t.same(newContent({ name, html, css, width, height }).variables, variables.map(nameOf));
  }
});

t.test('the description of a built-in tells every variable and the size', async (t) => {
  for (const { _id, description, variables, width, height } of BUILT_INS) {
    const [, optional = ''] = description.replace(/\([^)]*\)/g, '').split('Optional: ');
    for (const variable of variables.map(nameOf)) {
      const [, stem, number] = /^([a-z]+)(\d+)$/.exec(variable) ?? [];
      const isTold = stem === undefined ? variable : `${stem}1 to ${stem}24`;
      t.match(description, new RegExp(`\\b${isTold}\\b`), `${_id}: ${variable}`);
      if (number !== undefined) t.ok(Number(number) <= 24, variable);
      const isOptional = optionalNames(variables).includes(variable);
      t.equal(
        isOptional,
        RegExp(`\\b${isTold}\\b`).test(optional),
        `${_id}: ${variable} is declared as told`,
      );
    }
    t.match(description, `${width} x ${height}`);
  }
});

t.test('a filled built-in has no placeholder left, with a whole row and with none', async (t) => {
  for (const template of BUILT_INS) {
    const names = template.variables.map(nameOf);
    const row = Object.fromEntries(names.map((name) => [name, `<${name}>`]));
    const page = fill(template, row);
    t.notMatch(page, /\{\{/);
    for (const name of names) t.match(page, `&lt;${name}&gt;`);
    t.notMatch(fill(template, {}), /\{\{/);
  }
});
