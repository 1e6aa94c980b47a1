// needs: nothing
import t from 'tap';
import {
  blockedUrlWarnings,
  escapedInCssWarnings,
  variableWarnings,
} from '../../../src/product/templates/findings.ts';

t.test('names that fill nothing, and placeholders that stay empty, are found', async (t) => {
  const template = {
    html: '<h1>{{ title }}</h1>{{ user.name }}{{ list.0 }}',
    css: 'a{color:{{ color }}}',
    variables: ['title', 'user.name', 'list.0', 'color', 'reserved'],
  };
  const row = {
    titel: 'x',
    user: { name: 'Ada', nick: 'A' },
    list: ['one'],
    color: '',
    reserved: 1,
  };
  t.same(variableWarnings(template, row), [
    { code: 'unknown_variable', name: 'titel' },
    { code: 'unknown_variable', name: 'user.nick' },
    { code: 'empty_variable', name: 'title' },
  ]);
  t.same(variableWarnings(template, { title: null, user: 'Ada', list: [{}], color: 'red' }), [
    { code: 'empty_variable', name: 'title' },
    { code: 'empty_variable', name: 'user.name' },
    { code: 'empty_variable', name: 'list.0' },
  ]);
});

t.test('a series of numbered placeholders may be filled as far as it is needed', async (t) => {
  const html = ['image1', 'image2', 'image3', 'image4'].map((name) => `{{ ${name} }}`).join('');
  const template = { html, css: '', variables: [] };
  const empties = (row: Record<string, string>) => variableWarnings(template, row).map(({ name }) => name);
  t.same(empties({ image1: 'a', image2: 'b' }), []);
  t.same(empties({ image1: 'a', image3: 'c' }), ['image2'], 'a gap is found');
  t.same(empties({}), ['image1'], 'the first is missing');
});

t.test('tens of thousands of names, and long ones, are looked through once', async (t) => {
  const count = 40_000;
  const names = Array.from({ length: count }, (_, at) => `${at % 2 === 0 ? 'a' : 'b.c'}${at}`);
  const html = names.map((name) => `{{${name}}}`).join('');
  const row = { ...Object.fromEntries(names.map((name) => [`${name}x`, 1])), a2: 1, b: { c3: 1, c4: 1 } };
  const found = Map.groupBy(variableWarnings({ html, css: '', variables: [] }, row), ({ code }) => code);
  t.equal(found.get('unknown_variable')?.length, count + 1, 'those of the row, and b.c4');
  t.same(
    found.get('empty_variable')?.map(({ name }) => name),
    ['a0', 'b.c1'],
    'of two series the first, because later ones are filled as far as it is needed',
  );
  const long = `${'1'.repeat(500_000)}x`;
  t.same(variableWarnings({ html: `{{${long}}}`, css: '', variables: [] }, {}), [
    { code: 'empty_variable', name: long },
  ]);
});

t.test('a value that a style reads escaped is found by its name', async (t) => {
  const row = {
    font: '"Noto Serif"',
    url: 'a?b&c',
    colour: '#f00',
    size: 12,
    page: { font: "'x'" },
    tag: '<',
  };
  const table: Array<[html: string, css: string, names: string[]]> = [
    ['', 'p{font-family:{{ font }};color:{{ colour }};size:{{size}}}', ['font']],
    ['', 'p{font-family:{{{ font }}}}', []],
    ['', 'p{background:url({{ url }});font:{{ page.font }}}q{font:{{ page.font }}}', ['url', 'page.font']],
    ['<p title="{{ font }}">{{ tag }}</p>', '', []],
    ['<style>p{font-family:{{ font }}}</style><p>{{ tag }}</p>', '', ['font']],
    ['<STYLE media="all">\np{font-family:{{ font }}}</STYLE ><style>b{x:{{ tag }}}', '', ['font', 'tag']],
    ['<p style="font-family:{{ font }}" title="{{ tag }}">', '', ['font']],
    ["<p class=a STYLE = 'font-family:{{ font }}'><p style=font:{{tag}}>", '', ['font', 'tag']],
    ['style="{{ font }}" in a text, <p data-style="{{ font }}">', '', []],
    ['<style>{{ missing }}</style>', '{{ page }}', []],
  ];
  for (const [html, css, names] of table)
    t.same(
      escapedInCssWarnings({ html, css }, row).map(({ name }) => name),
      names,
      html || css,
    );
});

t.test('what a page names and may not load is found by its scheme', async (t) => {
  const table: Array<[html: string, schemes: string[]]> = [
    ['<img src="https://a.test/x.png">', ['https']],
    ["<img alt='' srcset='http://a.test/x.png 2x'>", ['http']],
    ['<link rel=stylesheet href=//a.test/x.css>', ['https']],
    ['<style>@import "https://a.test";b{background:url(file:///etc/passwd)}</style>', ['https', 'file']],
    ['<img src="photo.png">', ['relative']],
    ['<a href="https://a.test">https://a.test</a>', []],
    ['<img src="data:image/png;base64,AA"><img src="asset://ast_1"><use href="#i">', []],
    ['src="https://a.test" in a text', []],
    ['<img src="">', []],
  ];
  for (const [html, schemes] of table)
    t.same(
      blockedUrlWarnings(html).map(({ name }) => name),
      schemes,
      html,
    );
});

t.test('a page without an end is looked through once', async (t) => {
  const page = `${'<a '.repeat(300_000)}${'url("'.repeat(100_000)}`;
  t.ok(blockedUrlWarnings(page).length <= 1);
  for (const part of ['<style ', '<style>', '<p style="', '<p style='])
    t.same(escapedInCssWarnings({ html: part.repeat(100_000), css: '' }, {}), [], part);
});
