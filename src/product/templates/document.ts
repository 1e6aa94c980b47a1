import { invalidParamError } from '../../platform/http/errors/errors.ts';
import { MEGABYTE_BYTES } from '../../platform/values/units.ts';
import { FilledTooLargeError, fillPlaceholders, type TemplateRow } from './placeholders.ts';
import type { TemplateContent } from './schema.ts';

export type TemplateHtml = Pick<TemplateContent, 'html' | 'css'>;

/** A page with placeholders, its variables, and its size. */
export type SizedTemplatePage = Readonly<Omit<TemplateContent, 'name' | 'description'>>;

/**
 * The maximum length of the filled html, and of the filled css, in UTF-16 code units. There is room for many embedded
 * pictures.
 */
const MAX_FILLED_DOCUMENT_CHARACTERS = 24 * MEGABYTE_BYTES;

/**
 * The base style of every page. Without a margin, the page begins in the corner of the picture; without a background,
 * it is transparent.
 */
const BASE_CSS = 'html,body{margin:0;padding:0}';

/**
 * The HTML document of a template, filled with one row. The template may be a whole document itself: it can still be
 * put into the body, because the HTML parser drops its html and body tags and keeps their attributes.
 * @throws ApiError invalid_param on data when the filled page would be too large to render.
 */
export function fillTemplate(template: TemplateHtml, row: TemplateRow): string {
  try {
    const html = fillPlaceholders(template.html, row, MAX_FILLED_DOCUMENT_CHARACTERS);
    const css = fillPlaceholders(template.css, row, MAX_FILLED_DOCUMENT_CHARACTERS);
    return htmlDocument({ html, css });
  } catch (error) {
    if (!(error instanceof FilledTooLargeError)) throw error;
    const message = 'The data make the filled template larger than 24 MB; send smaller values.';
    throw invalidParamError('data', message, { limit: MAX_FILLED_DOCUMENT_CHARACTERS });
  }
}

function htmlDocument({ html, css }: TemplateHtml): string {
  return [
    '<!doctype html>',
    '<html>',
    '<head>',
    '<meta charset="utf-8">',
    `<style>${BASE_CSS}</style>`,
    `<style>${css}</style>`,
    '</head>',
    `<body>${html}</body>`,
    '</html>',
  ].join('\n');
}
