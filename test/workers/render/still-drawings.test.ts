// needs: nothing
import t from 'tap';
import { withoutAnimation, withoutDrawingAnimation } from '../../../workers/render/stillness.ts';

const STYLE =
  '<style>*{animation-duration:0s!important;animation-delay:0s!important;transition:none!important}</style>';
const MOVING = '<svg><style>i{animation:a 1s}</style><i/></svg>';
const STILL = `<svg><style>i{animation:a 1s}</style><i/>${STYLE}</svg>`;
const base64 = (text: string) => Buffer.from(text).toString('base64');

t.test('the motion of a drawing in a data: URL is ended, however the URL is spelt', async (t) => {
  const style = encodeURIComponent(STYLE);
  const table: Array<[name: string, page: string, still: string]> = [
    [
      'percent-encoded',
      `<img src="data:image/svg+xml,${encodeURIComponent(MOVING)}">`,
      `<img src="data:image/svg+xml,${encodeURIComponent(STILL)}">`,
    ],
    [
      'as text',
      `<img src='data:image/svg+xml;utf8,${MOVING}'>`,
      `<img src='data:image/svg+xml;utf8,${MOVING.replace('</svg', `${style}</svg`)}'>`,
    ],
    [
      'with the references of HTML',
      '<img src="data:image/svg+xml,&lt;svg style=&quot;transition:all 1s&quot;/&gt;&lt;/svg&gt;">',
      `<img src="data:image/svg+xml,&lt;svg style=&quot;transition:all 1s&quot;/&gt;${style}&lt;/svg&gt;">`,
    ],
    [
      'as base64, among others',
      `<b style="background:url(data:image/svg+xml;base64,${base64(MOVING)}),url(data:image/png;base64,AAAA)">`,
      `<b style="background:url(data:image/svg+xml;base64,${base64(STILL)}),url(data:image/png;base64,AAAA)">`,
    ],
  ];
  for (const [name, page, still] of table) {
    t.equal(withoutDrawingAnimation(page), still, name);
    t.equal(withoutDrawingAnimation(`${page}x${page}`), `${still}x${still}`, `${name}, twice`);
  }
});

t.test('a page without such a drawing stays as it is', async (t) => {
  for (const page of [
    '',
    '<style>i{animation:a 1s}</style><svg></svg>',
    '<img src="data:image/svg+xml,%3Csvg%3E%3C/svg%3E">',
    `<img src="data:image/svg+xml;base64,${base64('<svg></svg>')}">`,
    '<img src="data:image/svg+xml,animation">',
    '<img src="data:image/svg+xml;base64,">',
  ])
    t.equal(withoutDrawingAnimation(page), page, page);
});

t.test('a page is read once, however many drawings it begins', async (t) => {
  for (const part of ['data:image/svg+xml,', 'data:image/svg+xml;base64,', 'data:image/svg+xml']) {
    const page = part.repeat(500_000);
    t.equal(withoutDrawingAnimation(page), page, part);
  }
});

t.test('an asset is changed only where it is a drawing that moves', async (t) => {
  const still = (contentType: string, text: string) =>
    Buffer.from(withoutAnimation({ contentType, data: Buffer.from(text) })).toString();
  t.equal(still('image/svg+xml', MOVING), STILL);
  t.equal(still('image/svg+xml', '<svg></svg>'), '<svg></svg>');
  t.equal(still('image/png', MOVING), MOVING);
});
