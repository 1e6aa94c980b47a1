// needs: nothing
import t from 'tap';
import {
  escapeHtml,
  FilledTooLargeError,
  fillPlaceholders,
  type TemplateRow,
  variableNamesIn,
} from '../../../src/product/templates/placeholders.ts';
import { seededRandom } from '../../../workers/models/random.ts';

const fill = (text: string, row: TemplateRow) => fillPlaceholders(text, row, 100_000);

t.test('two braces fill escaped, three braces fill raw', async (t) => {
  const row = { name: `<b class="x">Tom & 'Ann'</b>` };
  t.equal(fill('{{ name }}', row), '&lt;b class=&quot;x&quot;&gt;Tom &amp; &#39;Ann&#39;&lt;/b&gt;');
  t.equal(fill('{{{ name }}}', row), row.name);
  t.equal(fill('{{name}}|{{  name\n}}|{{{name}}}', { name: 1 }), '1|1|1');
});

t.test('braces of CSS beside a placeholder stay braces', async (t) => {
  t.equal(fill('a{color:{{ color }}}', { color: 'red' }), 'a{color:red}');
  t.equal(fill('{{{ a }}', { a: 1 }), '{1');
  t.equal(fill('{{{{ a }}}}', { a: 1 }), '{1}');
});

t.test('a.b reads nested data, and a list by its index', async (t) => {
  const row = { user: { name: 'Ada', tags: ['x', 'y'] } };
  t.equal(fill('{{ user.name }} {{ user.tags.1 }}', row), 'Ada y');
  t.equal(fill('[{{ user.name.first }}{{ user..name }}{{ .user }}{{ user. }}{{ . }}]', row), '[]');
});

t.test(
  'a missing name, null, a list and an object fill nothing; numbers and booleans their text',
  async (t) => {
    t.equal(
      fill('[{{ gone }}{{ a.gone }}{{ n }}{{ l }}{{{ a }}}]', { n: null, l: [1, 2], a: { b: 1 } }),
      '[]',
    );
    t.equal(
      fill('{{ i }} {{ f }} {{ z }} {{ yes }} {{ no }}', { i: 7, f: -1.5, z: 0, yes: true, no: false }),
      '7 -1.5 0 true false',
    );
  },
);

t.test('nothing but own properties is read', async (t) => {
  const names = [
    'constructor',
    'constructor.name',
    '__proto__',
    '__proto__.constructor',
    'toString',
    'a.constructor.name',
    'a.__proto__',
  ];
  for (const name of names) t.equal(fill(`[{{{ ${name} }}}]`, { a: {} }), '[]', name);
  t.equal(fill('[{{ list.length }}{{ text.length }}]', { list: ['x', 'y'], text: 'xy' }), '[]');
  t.equal(fill('{{ size.length }}', { size: { length: 2 } }), '2');
  t.equal(fill('{{ __proto__ }}', JSON.parse('{"__proto__": "own"}')), 'own');
});

t.test('braces around anything but a name stay as they are', async (t) => {
  for (const text of [
    '{{ a b }}',
    '{{#if a}}',
    '{{ a-b }}',
    '{{}}',
    '{{ a',
    '{ a }',
    '{{ a }',
    '{{! note }}',
  ]) {
    t.equal(fill(text, { a: 1, b: 2 }), text);
  }
});

t.test('what a value brings is never filled again', async (t) => {
  t.equal(fill('{{ a }}{{{ a }}}', { a: '{{ b }}', b: 'secret' }), '{{ b }}{{ b }}');
  t.equal(fill('{{ a }}', { a: "$& $1 $' $$" }), '$&amp; $1 $&#39; $$');
});

t.test('a page that would grow past its bound is refused before it is built', async (t) => {
  const value = 'x'.repeat(50_000);
  t.equal(fill('{{ a }}{{ a }}', { a: value }).length, 100_000);
  t.throws(
    () => fill('{{ a }}{{ a }}!', { a: value }),
    new FilledTooLargeError('The text is over 100000 characters.'),
  );
  t.throws(() => fill('{{ a }}'.repeat(40_000), { a: '&'.repeat(1_000_000) }), FilledTooLargeError);
});

t.test('variables are the names of html and css, each once, in order', async (t) => {
  t.same(variableNamesIn('{{ b }} {{{ a.c }}} {{ b }}', 'i{color:{{ ink }};top:{{ b }}px}'), [
    'b',
    'a.c',
    'ink',
  ]);
  t.same(variableNamesIn('{{#if x}} { y } {{ }}', ''), []);
});

t.test('long runs of braces and spaces are read in linear time', async (t) => {
  for (const text of [
    '{'.repeat(250_000),
    `{{${' '.repeat(250_000)}`,
    '{{a '.repeat(60_000),
    `{{${'a.'.repeat(120_000)}`,
  ]) {
    t.equal(fillPlaceholders(text, {}, 1_000_000), text);
    t.same(variableNamesIn(text, text), []);
  }
});

t.test(
  'no escaped value can make an element or an attribute, in text or in a quoted attribute',
  async (t) => {
    const pieces = [
      '<',
      '>',
      '"',
      "'",
      '&',
      '/',
      '=',
      '&lt;',
      '&#60;',
      '<script>',
      '</style>',
      '-->',
      ' onload=x',
      '{{ a }}',
      '\u0000',
      '\n',
      '`',
      'é',
      '😀',
      '\ud800',
    ];
    const random = seededRandom(20_240_229);
    for (let run = 0; run < 2000; run++) {
      const length = 1 + Math.floor(random() * 20);
      const value = Array.from({ length }, () => pieces[Math.floor(random() * pieces.length)]).join('');
      const filled = fill(`<p title="{{ a }}" lang='{{ a }}'>{{ a }}</p>`, { a: value });
      const [, double = '', single = '', text = ''] =
        /^<p title="([^"]*)" lang='([^']*)'>([^<]*)<\/p>$/.exec(filled) ?? [];
      t.equal(double, text);
      t.equal(single, text);
      if (/[<>"']/.test(text) || /&(?!(?:amp|lt|gt|quot|#39);)/.test(text))
        t.fail('a character of the markup came through', { value });
      if (unescapeHtml(text) !== value) t.fail('the value does not read back as itself', { value });
    }
  },
);

function unescapeHtml(text: string): string {
  const characters: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };
  return text.replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => characters[name] ?? '');
}

t.test('escaping leaves every other character alone', async (t) => {
  t.equal(escapeHtml('a / = ` \u00a0 é 😀'), 'a / = ` \u00a0 é 😀');
});
