// needs: nothing
import t from 'tap';
import { ApiError } from '../../../src/platform/http/errors/errors.ts';
import { refuseReservedSlug } from '../../../src/platform/named-documents.ts';
import { checkTemplateEntries } from '../../../src/product/templates/routes.ts';
import {
  checkImportedTemplate,
  checkNewTemplate,
  checkTemplateChange,
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
  t.same(checkNewTemplate(sent), { ...sent, description: '', css: '', variables: ['title'] });
  t.same(checkNewTemplate({ ...sent, css: 'p{color:{{ ink }}}' }).variables, ['title', 'ink']);
  t.same(checkNewTemplate({ ...sent, variables: ['other'] }).variables, ['other']);
  t.same(checkNewTemplate({ ...sent, variables: [] }).variables, []);
});

t.test('html and css are measured in bytes of UTF-8', async (t) => {
  t.equal(
    refusedOn(() => checkNewTemplate({ ...sent, html: 'x'.repeat(MAX_TEMPLATE_HTML_BYTES) })),
    null,
  );
  t.equal(
    refusedOn(() => checkNewTemplate({ ...sent, html: 'x'.repeat(MAX_TEMPLATE_HTML_BYTES + 1) })),
    'html',
  );
  t.equal(
    refusedOn(() => checkNewTemplate({ ...sent, html: 'é'.repeat(MAX_TEMPLATE_HTML_BYTES / 2) })),
    null,
  );
  t.equal(
    refusedOn(() => checkNewTemplate({ ...sent, html: 'é'.repeat(MAX_TEMPLATE_HTML_BYTES / 2 + 1) })),
    'html',
  );
  t.equal(
    refusedOn(() => checkNewTemplate({ ...sent, css: 'x'.repeat(MAX_TEMPLATE_CSS_BYTES) })),
    null,
  );
  t.equal(
    refusedOn(() => checkNewTemplate({ ...sent, css: '€'.repeat(MAX_TEMPLATE_CSS_BYTES / 2) })),
    'css',
  );
});

t.test('a blank name and a bad variable are refused, and so are too many derived ones', async (t) => {
  t.equal(
    refusedOn(() => checkNewTemplate({ ...sent, name: ' \n\t' })),
    'name',
  );
  for (const name of ['', 'a b', 'a-b', 'é', 'a\n', 1, null, ['a']] as string[]) {
    t.equal(
      refusedOn(() => checkNewTemplate({ ...sent, variables: ['good', name] })),
      'variables',
      JSON.stringify(name),
    );
  }
  const html = (count: number) => Array.from({ length: count }, (_, index) => `{{ v${index} }}`).join('');
  t.equal(
    refusedOn(() => checkNewTemplate({ ...sent, html: html(100) })),
    null,
  );
  t.equal(
    refusedOn(() => checkNewTemplate({ ...sent, html: html(101) })),
    'variables',
  );
  t.equal(
    refusedOn(() => checkNewTemplate({ ...sent, html: html(101), variables: ['v1'] })),
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
  const current: TemplateContent = checkNewTemplate({ ...sent, description: 'old', css: 'p{}' });
  t.same(checkTemplateChange(current, {}), current);
  t.same(checkTemplateChange(current, { name: 'New' }), { ...current, name: 'New' });
  t.same(checkTemplateChange(current, { css: '', description: '' }), {
    ...current,
    css: '',
    description: '',
  });
  t.equal(
    refusedOn(() => checkTemplateChange(current, { name: ' ' })),
    'name',
  );
});

t.test('variables stay until html or css becomes another text, unless they are sent', async (t) => {
  const current: TemplateContent = checkNewTemplate({ ...sent, variables: ['kept'] });
  t.same(checkTemplateChange(current, { name: 'New', html: sent.html }).variables, ['kept']);
  t.same(checkTemplateChange(current, { html: '{{ other }}' }).variables, ['other']);
  t.same(checkTemplateChange(current, { css: 'p{color:{{ ink }}}' }).variables, ['title', 'ink']);
  t.same(checkTemplateChange(current, { html: '{{ other }}', variables: ['sent'] }).variables, ['sent']);
  t.same(checkTemplateChange(current, { variables: [] }).variables, []);
});

t.test('an entry of an import may be anything, and is checked like a create', async (t) => {
  for (const entry of [null, 7, 'text', [], undefined])
    t.equal(
      refusedOn(() => checkImportedTemplate(entry)),
      'entry',
    );
  t.equal(
    refusedOn(() => checkImportedTemplate({})),
    'name',
  );
  t.equal(
    refusedOn(() => checkImportedTemplate({ ...sent, name: 'x'.repeat(MAX_TEMPLATE_NAME_CHARACTERS + 1) })),
    'name',
  );
  t.equal(
    refusedOn(() => checkImportedTemplate({ ...sent, name: '😀'.repeat(MAX_TEMPLATE_NAME_CHARACTERS) })),
    null,
  );
  for (const width of [0, -1, 4097, 1.5, '10', null]) {
    t.equal(
      refusedOn(() => checkImportedTemplate({ ...sent, width })),
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
  const { drafts, errors } = await checkTemplateEntries(entries);
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
