// needs: nothing
import t from 'tap';
import { isBuiltInReference, isReservedSlug, isSlug } from '../../../src/platform/ids/slugs.ts';
import { BUILT_IN_TEMPLATES, findBuiltInTemplate } from '../../../src/product/templates/builtins/index.ts';
import { fillTemplate } from '../../../src/product/templates/document.ts';
import { parseNewTemplate } from '../../../src/product/templates/rules.ts';
import { optionalVariableNames, variableNameOf } from '../../../src/product/templates/schema.ts';

t.test('there are at least four built-ins, under reserved names', async (t) => {
  t.ok(BUILT_IN_TEMPLATES.length >= 4);
  t.equal(new Set(BUILT_IN_TEMPLATES.map(({ _id }) => _id)).size, BUILT_IN_TEMPLATES.length);
  for (const { _id, slug, version } of BUILT_IN_TEMPLATES) {
    t.match(_id, /^builtin-template-/);
    t.equal(slug, _id);
    t.ok(isSlug(slug) && isReservedSlug(slug));
    t.equal(version, 1);
    t.ok(isBuiltInReference(_id) && findBuiltInTemplate(_id)?.slug === slug);
  }
});

t.test('a built-in could have been created by a caller from its html and css', async (t) => {
  for (const { name, html, css, width, height, variables } of BUILT_IN_TEMPLATES) {
    t.same(parseNewTemplate({ name, html, css, width, height }).variables, variables.map(variableNameOf));
  }
});

t.test('the description of a built-in tells every variable and the size', async (t) => {
  for (const { _id, description, variables, width, height } of BUILT_IN_TEMPLATES) {
    const [, optional = ''] = description.replace(/\([^)]*\)/g, '').split('Optional: ');
    for (const variable of variables.map(variableNameOf)) {
      const [, stem, number] = /^([a-z]+)(\d+)$/.exec(variable) ?? [];
      const isTold = stem === undefined ? variable : `${stem}1 to ${stem}24`;
      t.match(description, new RegExp(`\\b${isTold}\\b`), `${_id}: ${variable}`);
      if (number !== undefined) t.ok(Number(number) <= 24, variable);
      const isOptional = optionalVariableNames(variables).includes(variable);
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
  for (const template of BUILT_IN_TEMPLATES) {
    const names = template.variables.map(variableNameOf);
    const row = Object.fromEntries(names.map((name) => [name, `<${name}>`]));
    const page = fillTemplate(template, row);
    t.notMatch(page, /\{\{/);
    for (const name of names) t.match(page, `&lt;${name}&gt;`);
    t.notMatch(fillTemplate(template, {}), /\{\{/);
  }
});
