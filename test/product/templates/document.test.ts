// needs: nothing
import t from 'tap';
import { ApiError } from '../../../src/platform/http/errors/errors.ts';
import { fillTemplate } from '../../../src/product/templates/document.ts';

t.test(
  'a page is a whole document with the css in its head and the html in its body, both filled',
  async (t) => {
    const page = fillTemplate(
      { html: '<p>{{ title }}</p>', css: 'p{color:{{ ink }}}' },
      { title: 'A & B', ink: 'red' },
    );
    t.match(page, /^<!doctype html>\n<html>\n<head>\n<meta charset="utf-8">/);
    t.ok(page.indexOf('<style>p{color:red}</style>') < page.indexOf('</head>'));
    t.match(page, '<body><p>A &amp; B</p></body>');
  },
);

t.test('an escaped value in the css cannot end the style element', async (t) => {
  const page = fillTemplate({ html: '', css: 'p::before{content:"{{ a }}"}' }, { a: '</style><img src=x>' });
  t.equal(page.match(/<\/style>/g)?.length, 2);
  t.notMatch(page, '<img');
});

t.test('data that would make a page too large are refused', async (t) => {
  const template = { html: '{{ a }}'.repeat(1000), css: '' };
  try {
    fillTemplate(template, { a: 'x'.repeat(1_000_000) });
    t.fail('it was filled');
  } catch (error) {
    t.ok(error instanceof ApiError);
    t.match(error, { code: 'invalid_param', param: 'data' });
  }
});
