import { readFileSync } from 'node:fs';
import { variableNamesIn } from '../placeholders.ts';
import { parseNewTemplate } from '../rules.ts';
import type { Template } from '../template.ts';

const BUILT_IN_PREFIX = 'builtin-template-';

/**
 * When the built-in templates were last changed. Each has a single version, which changes only with a release of the
 * service.
 */
const BUILT_IN_TEMPLATES_SAVED_AT = '2025-01-01T00:00:00.000Z';

/**
 * The templates that every account has, in the order of the listing. Their files are read once, when the process
 * starts.
 */
export const BUILT_IN_TEMPLATES: readonly Template[] = [
  createBuiltInTemplate('social-card', {
    name: 'Social card',
    description:
      'The picture of a shared link, 1200 x 630. title: up to four lines. Optional: eyebrow (a word or two above the title), subtitle (two lines), author, site, image (a data: URI or asset://<id>, shown at the right) and accent (a CSS colour).',
    width: 1200,
    height: 630,
    optional: ['eyebrow', 'subtitle', 'author', 'site', 'image', 'accent'],
  }),
  createBuiltInTemplate('quote', {
    name: 'Quote',
    description:
      'A quotation on warm paper, 1080 x 1080. quote: up to seven lines, some 220 characters. Optional: author, role, portrait (a data: URI or asset://<id>, shown round) and accent (a CSS colour).',
    width: 1080,
    height: 1080,
    optional: ['author', 'role', 'portrait', 'accent'],
  }),
  createBuiltInTemplate('product-banner', {
    name: 'Product banner',
    description:
      'A wide banner for one product, 1600 x 640. name: up to three lines. Optional: brand, tagline (two lines), callToAction, price, oldPrice (struck through), badge, image (a data: URI or asset://<id>, best cut out) and accent (a CSS colour).',
    width: 1600,
    height: 640,
    optional: ['brand', 'tagline', 'callToAction', 'price', 'oldPrice', 'badge', 'image', 'accent'],
  }),
  createBuiltInTemplate('certificate', {
    name: 'Certificate',
    description:
      'A landscape certificate in the shape of A4, 1754 x 1240. title (such as Certificate of Achievement), recipient, date, signatory and signatoryRole. Optional: issuer, reason (two lines) and accent (a CSS colour).',
    width: 1754,
    height: 1240,
    optional: ['issuer', 'reason', 'accent'],
  }),
  createBuiltInTemplate('contact-sheet', {
    name: 'Contact sheet',
    description:
      'Up to 24 pictures on one sheet, 1600 x 1200, each shown whole, in as many columns as they need. image1 to image24: data: URIs or asset://<id>, from the first on. Optional: caption1 to caption24 (one line each), title and background (a CSS colour; the letters are dark on a light one and light on a dark one).',
    width: 1600,
    height: 1200,
    optional: ['title', 'background', ...Array.from({ length: 24 }, (_, index) => `caption${index + 1}`)],
  }),
];

/** The built-in template with this id, which is also its slug. */
export function findBuiltInTemplate(idOrSlug: string): Template | undefined {
  return BUILT_IN_TEMPLATES.find(({ _id }) => _id === idOrSlug);
}

/** The built-in template with this short name: its id without `builtin-template-`. */
export function findBuiltInTemplateByShortName(name: string): Template | undefined {
  return findBuiltInTemplate(`${BUILT_IN_PREFIX}${name}`);
}

/** The short name of a built-in template: its id without `builtin-template-`. */
export function builtInShortNameOf(id: string): string {
  return id.slice(BUILT_IN_PREFIX.length);
}

interface BuiltInFields extends Pick<Template, 'name' | 'description' | 'width' | 'height'> {
  /** The names of the variables that a row may omit. */
  optional: readonly string[];
}

/** Makes a built-in template from its fields, and from its html and css, which are files in this folder. */
function createBuiltInTemplate(file: string, { optional, ...facts }: BuiltInFields): Template {
  const readFile = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8');
  const id = `${BUILT_IN_PREFIX}${file}`;
  const [html, css] = [readFile(`${file}.html`), readFile(`${file}.css`)];
  const variables = variableNamesIn(html, css).map((name) =>
    optional.includes(name) ? { name, optional: true } : name,
  );
  const content = parseNewTemplate({ ...facts, html, css, variables });
  return {
    _id: id,
    slug: id,
    version: 1,
    createdAt: BUILT_IN_TEMPLATES_SAVED_AT,
    updatedAt: BUILT_IN_TEMPLATES_SAVED_AT,
    ...content,
  };
}
