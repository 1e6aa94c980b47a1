// needs: nothing
import t from 'tap';
import { highlightedHtml } from '../../../src/platform/pages/highlight.ts';
import { pageHtml } from '../../../src/platform/pages/html.ts';
import { pageMarkdown } from '../../../src/platform/pages/markdown.ts';
import {
  type DocumentationPage,
  fieldsBlock,
  headingBlock,
  listBlock,
  pageLink,
  paragraphBlock,
  samplesBlock,
  shellSampleBlock,
  tableBlock,
} from '../../../src/platform/pages/page.ts';
import { parseBlocks, parsePage } from '../../../src/platform/pages/parse.ts';

const PAGE: DocumentationPage = {
  title: 'A <page>',
  lead: 'It has `code & more`.',
  blocks: [
    paragraphBlock(
      'See ',
      pageLink('errors', '/docs/errors'),
      ' and ',
      pageLink('the map', '/llms.txt'),
      '.',
    ),
    headingBlock('Two & two'),
    listBlock('one', ['two ', pageLink('2', '/docs/two#part')]),
    tableBlock(
      ['a', 'b'],
      [['1'], [pageLink('x', '/docs/x')]].map((cell) => [cell, ['y']]),
    ),
    fieldsBlock([
      { name: 'width', takes: 'integer 1 to 9', note: 'optional', fallback: '3', description: 'In `px`.' },
    ]),
    samplesBlock(
      { label: 'curl', language: 'sh', code: 'curl "$BASE" # now' },
      { label: 'JSON', language: 'json', code: '{"a": "<b>"}' },
    ),
    { kind: 'fields', summary: 'Others', fields: [{ name: 'x', takes: 'text', description: '' }] },
  ],
};

t.test('a page as Markdown: its links lead to Markdown', async (t) => {
  const expected = `# A <page>

It has \`code & more\`.

See [errors](/docs/errors.md) and [the map](/llms.txt).

## Two & two

- one
- two [2](/docs/two.md#part)

| a | b |
| --- | --- |
| 1 | y |
| [x](/docs/x.md) | y |

- width (integer 1 to 9; default 3, optional) In \`px\`.

\`\`\`sh
curl "$BASE" # now
\`\`\`

\`\`\`json
{"a": "<b>"}
\`\`\`

Others:
- x (text)
`;
  t.equal(pageMarkdown(PAGE), expected);
  const short = pageMarkdown(PAGE, { isShort: true });
  t.notMatch(short, '```json');
  t.match(short, 'And the others.');
});

t.test('a page as HTML: every text is escaped, and a heading can be linked', async (t) => {
  const html = pageHtml(PAGE);
  for (const part of [
    '<h1>A &lt;page&gt;</h1>',
    '<code>code &amp; more</code>',
    '<a href="/docs/errors">errors</a>',
    '<h2 id="two--two"><a href="#two--two">Two &amp; two</a></h2>',
    '<td data-head="b">y</td>',
    '<details><summary>Others</summary>',
    '<span class="comment"># now</span>',
    '<span class="string">&quot;&lt;b&gt;&quot;</span>',
  ])
    t.match(html, part, part);
  t.notMatch(html, '<b>');
});

t.test('groups of samples have names of their own, and a single sample has no choice', async (t) => {
  const both = samplesBlock(
    { label: 'curl', language: 'sh', code: 'a' },
    { label: 'Python', language: 'python', code: 'b' },
  );
  const html = pageHtml({ title: '', lead: '', blocks: [both, both, shellSampleBlock('c')] });
  const ids = [...html.matchAll(/ id="(tab[^"]+)"/g)].map(([, id]) => id);
  t.equal(new Set(ids).size, 4);
  t.equal(html.match(/radiogroup/g)?.length, 2);
});

t.test('a description is paragraphs, with samples between fences', async (t) => {
  const blocks = parseBlocks('One.\n\nTwo:\n\n```js\nlet a;\n\nlet b;\n```\n\nThree.');
  t.same(
    blocks.map(({ kind }) => kind),
    ['paragraph', 'paragraph', 'samples', 'paragraph'],
  );
  t.equal(
    pageMarkdown({ title: 'T', lead: '', blocks }),
    '# T\n\nOne.\n\nTwo:\n\n```js\nlet a;\n\nlet b;\n```\n\nThree.\n',
  );
});

t.test('a page in Markdown has its title, its lead and every kind of block', async (t) => {
  const sentence = 'A line that is\ngoes on, and leads to [another page](/docs/ops).';
  const blocks = [
    '## Part\n\n### Detail',
    sentence,
    '- one\n- `two`,\n  on two lines',
    '1. first\n2. second',
    '| Name | Meaning |\n| --- | --- |\n| `a` | [see](/docs/a) |',
    '```sh cluster.env\nA=1\n```\n\n```python\nb\n\n```',
  ];
  t.same(parsePage(`# Title\n\nIts lead,\nwrapped.\n\n${blocks.join('\n\n')}\n`), {
    title: 'Title',
    lead: 'Its lead, wrapped.',
    blocks: [
      headingBlock('Part'),
      headingBlock('Detail', 3),
      paragraphBlock('A line that is goes on, and leads to ', pageLink('another page', '/docs/ops'), '.'),
      listBlock('one', '`two`, on two lines'),
      { kind: 'list', isNumbered: true, items: [['first'], ['second']] },
      tableBlock(['Name', 'Meaning'], [[['`a`'], [pageLink('see', '/docs/a')]]]),
      samplesBlock(
        { label: 'cluster.env', language: 'sh', code: 'A=1' },
        { label: 'Python', language: 'python', code: 'b\n' },
      ),
    ],
  });
});

t.test('colours leave the text of a sample as it is', async (t) => {
  const code = "const a = \"x // no\" + `y`; // yes <1>\nif (a !== 2.5) throw new Error('it\\'s');";
  const html = highlightedHtml(code, 'ts');
  t.match(html, '<span class="comment">// yes &lt;1&gt;</span>');
  t.match(html, '<span class="number">2.5</span>');
  const text = html
    .replaceAll(/<\/?span[^>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&');
  t.equal(text, code);
});
