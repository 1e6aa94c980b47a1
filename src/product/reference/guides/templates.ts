import {
  type DocumentationPage,
  headingBlock,
  listBlock,
  pageLink,
  paragraphBlock,
  samplesBlock,
  shellSampleBlock,
} from '../../../platform/pages/page.ts';
import {
  byteSizeText,
  MAX_SIDE_PX,
  MAX_TEMPLATE_CSS_BYTES,
  MAX_TEMPLATE_HTML_BYTES,
} from '../../templates/schema.ts';

export const templatesGuide: DocumentationPage = {
  title: 'Templates',
  lead: 'HTML and CSS with placeholders become pictures: social cards, certificates, banners.',
  blocks: [
    headingBlock('A built-in template'),
    paragraphBlock(
      'A render takes a template and one row of data. `social-card` is built in; GET /api/v1/templates lists the others with their variables. The first render of a process starts a browser, which takes some seconds.',
    ),
    shellSampleBlock(`curl --fail-with-body \\
  -H "Authorization: ApiKey $KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"templateId": "social-card",
       "data": {"eyebrow": "Hello", "title": "It works", "author": "You", "site": "example.com"}}' \\
  "$BASE/api/v1/images/render" -o card.png`),
    headingBlock('A page of your own'),
    paragraphBlock(
      `In place of \`templateId\` send \`html\`, \`css\`, \`width\` and \`height\`: html of at most ${byteSizeText(MAX_TEMPLATE_HTML_BYTES)}, css of at most ${byteSizeText(MAX_TEMPLATE_CSS_BYTES)}, and sides of 1 to ${MAX_SIDE_PX} px. \`{{ name }}\` is filled escaped, \`{{{ name }}}\` as it is. Scripts never run, and nothing is loaded but \`data:\` URIs and assets of the account, as \`asset://<assetId>\`.`,
    ),
    samplesBlock({
      label: 'HTML',
      language: 'html',
      code: '<main>\n  <img src="asset://ast_…">\n  <h1>{{ title }}</h1>\n</main>',
    }),
    shellSampleBlock(`curl --fail-with-body \\
  -H "Authorization: ApiKey $KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"html": "<h1>{{ title }}</h1>", "css": "h1 { font: 700 48px sans-serif; margin: 40px }",
       "width": 600, "height": 200, "data": {"title": "Our own page"}}' \\
  "$BASE/api/v1/images/render" -o own.png`),
    headingBlock('A template that is kept'),
    paragraphBlock(
      'Save it once with a slug. A change makes a new version; `receipt@1` names the first one for ever.',
    ),
    shellSampleBlock(`curl --fail-with-body \\
  -H "Authorization: ApiKey $KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"name": "Receipt", "slug": "receipt", "html": "<h1>{{ shop }}</h1><p>{{ total }}</p>",
       "width": 400, "height": 300}' "$BASE/api/v1/templates"
curl --fail-with-body \\
  -H "Authorization: ApiKey $KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"templateId": "receipt@1", "data": {"shop": "Corner shop", "total": "12.50"}}' \\
  "$BASE/api/v1/images/render" -o receipt.png`),
    headingBlock('Many rows'),
    paragraphBlock('A job draws one picture per row of `items`, up to 10,000.'),
    shellSampleBlock(`curl --fail-with-body \\
  -H "Authorization: ApiKey $KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"op": "render_template", "templateId": "receipt",
       "items": [{"shop": "Corner shop", "total": "12.50"}, {"shop": "Book shop", "total": "30.00"}]}' \\
  "$BASE/api/v1/jobs"`),
    headingBlock('What to look at'),
    listBlock(
      '`unknown_variable:titel` in X-Service-Warnings: the row names a variable that the template does not have.',
      '`missing_asset:<id>`: a picture of the page is not there; `font_replaced:Inter`: GET /api/v1/fonts lists those that are.',
      ['Every field: ', pageLink('POST /api/v1/images/render', '/docs/renderImage'), '.'],
    ),
  ],
};
