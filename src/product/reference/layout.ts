import type { StaticFiles } from '../../platform/http/static/files.ts';
import { escapeHtmlText } from '../../platform/pages/highlight.ts';
import { pageHtml } from '../../platform/pages/html.ts';
import type { DocumentationPage } from '../../platform/pages/page.ts';
import type { DocumentationLibrary, PageGroup } from './library.ts';

/** The address of a page in a browser. */
export function documentationAddress(path: string): string {
  return path === 'index' ? '/docs/' : `/docs/${path}`;
}

/**
 * A documentation page as an HTML document with the menu and the search.
 * @param path the path of the page below /docs.
 */
export function documentationHtml(
  path: string,
  page: DocumentationPage,
  library: DocumentationLibrary,
  files: StaticFiles,
): string {
  const title = path === 'index' ? 'Darkroom documentation' : `${page.title} · Darkroom documentation`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="${escapeHtmlText(page.lead.replaceAll('`', ''))}">
<title>${escapeHtmlText(title)}</title>
<link rel="icon" type="image/svg+xml" href="${files.addressFor('favicon.svg')}">
<link rel="alternate" type="text/markdown" href="/docs/${path}.md">
<link rel="stylesheet" href="${files.addressFor('base.css')}">
<link rel="stylesheet" href="${files.addressFor('reference.css')}">
${files.modulePreloads('reference.ts')}
<script type="module" src="${files.addressFor('reference.ts')}"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<button type="button" class="menu" popovertarget="menu" aria-label="Menu">☰</button>
<a class="brand" href="/docs/">${LOGO_SVG}Darkroom</a>
<search><input type="search" placeholder="Search" aria-label="Search the documentation" aria-controls="found" autocomplete="off" spellcheck="false" disabled><kbd>/</kbd><ul id="found" hidden></ul></search>
<nav class="top" aria-label="Other forms"><a href="/docs/${path}.md">Markdown</a><a href="/openapi.json">OpenAPI</a></nav>
</header>
<div class="frame">
<nav id="menu" popover aria-label="Pages">${menuHtml(library.groups, path)}</nav>
<main id="content">${pageHtml(page)}</main>
</div>
</body>
</html>
`;
}

const LOGO_SVG =
  '<svg viewBox="0 0 32 32" width="24" height="24" aria-hidden="true"><rect width="32" height="32" rx="7"/><circle cx="16" cy="16" r="8"/></svg>';

/** The menu. Groups of pages with the same heading are put together below it. */
function menuHtml(groups: readonly PageGroup[], current: string): string {
  return groups
    .map((pageGroup, index) => {
      const beginsGroup = pageGroup.group !== groups[index - 1]?.group;
      return `${beginsGroup ? `<p>${pageGroup.group}</p>` : ''}${pageGroupHtml(pageGroup, current)}`;
    })
    .join('');
}

function pageGroupHtml({ group, title, entries }: PageGroup, current: string): string {
  const isOpen = group === 'Guides' || entries.some(({ path }) => path === current);
  const items = entries.map(({ path, title }) => {
    const marked = path === current ? ' aria-current="page"' : '';
    return `<li><a href="${documentationAddress(path)}"${marked}>${escapeHtmlText(title)}</a></li>`;
  });
  return `<details${isOpen ? ' open' : ''}><summary>${escapeHtmlText(title)}</summary><ul>${items.join('')}</ul></details>`;
}
