// needs: nothing
import t from 'tap';
import { ApiError } from '../../../src/platform/http/errors/errors.ts';
import { refuseReservedSlug } from '../../../src/platform/named-documents.ts';
import { parseTemplateEntries } from '../../../src/product/templates/routes.ts';
import {
  applyTemplateChange,
  parseImportedTemplate,
  parseNewTemplate,
} from '../../../src/product/templates/rules.ts';
import {
  MAX_TEMPLATE_CSS_BYTES,
  MAX_TEMPLATE_HTML_BYTES,
  MAX_TEMPLATE_NAME_CHARACTERS,
  type TemplateContent,
} from '../../../src/product/templates/schema.ts';
import { TEMPLATE_KIND } from '../../../src/product/templates/store.ts';

const sent = { name: 'Card', html: '<p>{{ title }}</p>', width: 10, height: 20 };

/** The parameter that a call is refused on; null when it is not refused. */
function refusedOn(call: () => unknown): string | null {
  try {
    call();
    return null;
  } catch (error) {
    if (error instanceof ApiError && error.code === 'invalid_param') return error.param ?? '';
    throw error;
  }
}

t.test('a new template has empty description and css, and variables from its placeholders', async (t) => {
  t.same(parseNewTemplate(sent), { ...sent, description: '', css: '', variables: ['title'] });
  t.same(parseNewTemplate({ ...sent, css: 'p{color:{{ ink }}}' }).variables, ['title', 'ink']);
  t.same(parseNewTemplate({ ...sent, variables: ['other'] }).variables, ['other']);
  t.same(parseNewTemplate({ ...sent, variables: [] }).variables, []);
});

t.test('html and css are measured in bytes of UTF-8', async (t) => {
  t.equal(
    refusedOn(() => parseNewTemplate({ ...sent, html: 'x'.repeat(MAX_TEMPLATE_HTML_BYTES) })),
    null,
  );
  t.equal(
    refusedOn(() => parseNewTemplate({ ...sent, html: 'x'.repeat(MAX_TEMPLATE_HTML_BYTES + 1) })),
    'html',
  );
  t.equal(
    refusedOn(() => parseNewTemplate({ ...sent, html: 'é'.repeat(MAX_TEMPLATE_HTML_BYTES / 2) })),
    null,
  );
  t.equal(
    refusedOn(() => parseNewTemplate({ ...sent, html: 'é'.repeat(MAX_TEMPLATE_HTML_BYTES / 2 + 1) })),
    'html',
  );
  t.equal(
    refusedOn(() => parseNewTemplate({ ...sent, css: 'x'.repeat(MAX_TEMPLATE_CSS_BYTES) })),
    null,
  );
  t.equal(
    refusedOn(() => parseNewTemplate({ ...sent, css: '€'.repeat(MAX_TEMPLATE_CSS_BYTES / 2) })),
    'css',
  );
});

t.test('a blank name and a bad variable are refused, and so are too many derived ones', async (t) => {
  t.equal(
    refusedOn(() => parseNewTemplate({ ...sent, name: ' \n\t' })),
    'name',
  );
  for (const name of ['', 'a b', 'a-b', 'é', 'a\n', 1, null, ['a']] as string[]) {
    t.equal(
      refusedOn(() => parseNewTemplate({ ...sent, variables: ['good', name] })),
      'variables',
      JSON.stringify(name),
    );
  }
  const html = (count: number) => Array.from({ length: count }, (_, index) => `{{ v${index} }}`).join('');
  t.equal(
    refusedOn(() => parseNewTemplate({ ...sent, html: html(100) })),
    null,
  );
  t.equal(
    refusedOn(() => parseNewTemplate({ ...sent, html: html(101) })),
    'variables',
  );
  t.equal(
    refusedOn(() => parseNewTemplate({ ...sent, html: html(101), variables: ['v1'] })),
    null,
  );
});

t.test('only built-ins have a slug that begins with builtin-', async (t) => {
  t.equal(
    refusedOn(() => refuseReservedSlug(TEMPLATE_KIND, 'builtin-x')),
    'slug',
  );
  t.equal(
    refusedOn(() => refuseReservedSlug(TEMPLATE_KIND, 'builtins')),
    null,
  );
});

t.test('a change keeps what it leaves out, and an empty text empties css and description', async (t) => {
  const current: TemplateContent = parseNewTemplate({ ...sent, description: 'old', css: 'p{}' });
  t.same(applyTemplateChange(current, {}), current);
  t.same(applyTemplateChange(current, { name: 'New' }), { ...current, name: 'New' });
  t.same(applyTemplateChange(current, { css: '', description: '' }), {
    ...current,
    css: '',
    description: '',
  });
  t.equal(
    refusedOn(() => applyTemplateChange(current, { name: ' ' })),
    'name',
  );
});

t.test('variables stay until html or css becomes another text, unless they are sent', async (t) => {
  const current: TemplateContent = parseNewTemplate({ ...sent, variables: ['kept'] });
  t.same(applyTemplateChange(current, { name: 'New', html: sent.html }).variables, ['kept']);
  t.same(applyTemplateChange(current, { html: '{{ other }}' }).variables, ['other']);
  t.same(applyTemplateChange(current, { css: 'p{color:{{ ink }}}' }).variables, ['title', 'ink']);
  t.same(applyTemplateChange(current, { html: '{{ other }}', variables: ['sent'] }).variables, ['sent']);
  t.same(applyTemplateChange(current, { variables: [] }).variables, []);
});

t.test('an entry of an import may be anything, and is checked like a create', async (t) => {
  for (const entry of [null, 7, 'text', [], undefined])
    t.equal(
      refusedOn(() => parseImportedTemplate(entry)),
      'entry',
    );
  t.equal(
    refusedOn(() => parseImportedTemplate({})),
    'name',
  );
  t.equal(
    refusedOn(() => parseImportedTemplate({ ...sent, name: 'x'.repeat(MAX_TEMPLATE_NAME_CHARACTERS + 1) })),
    'name',
  );
  t.equal(
    refusedOn(() => parseImportedTemplate({ ...sent, name: '😀'.repeat(MAX_TEMPLATE_NAME_CHARACTERS) })),
    null,
  );
  for (const width of [0, -1, 4097, 1.5, '10', null]) {
    t.equal(
      refusedOn(() => parseImportedTemplate({ ...sent, width })),
      'width',
      JSON.stringify(width),
    );
  }
});

t.test('an import keeps the order of what may land and names the index of what may not', async (t) => {
  const entries = [
    { ...sent, name: 'A' },
    { ...sent, width: 0 },
    'text',
    { ...sent, name: 'B', slug: 'No Slug' },
  ];
  let turns = 0;
  let isOver = false;
  const turn = () => {
    turns += 1;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  const { drafts, errors } = await parseTemplateEntries(entries);
  isOver = true;
  t.ok(turns >= entries.length, `others have a turn between two entries: ${turns}`);
  t.same(
    drafts.map(({ content, slug }) => [content.name, slug]),
    [
      ['A', undefined],
      ['B', undefined],
    ],
  );
  t.match(errors, [/^\[1\] width .*1/, /^\[2\] entry is .* an object is expected/]);
  t.equal(errors.length, 2);
});
