import { WARNINGS_PAGE } from '../../platform/http/hooks/warnings.ts';
import { lazy } from '../../platform/http/lazy.ts';
import { type DocumentNode, operationsOf } from '../../platform/http/openapi/document.ts';
import type { DocumentationPage, PagePictures } from '../../platform/pages/page.ts';
import type { OpDefinition } from '../catalogue/schema.ts';
import { type DocumentedOperation, endpointPage } from './endpoint-page.ts';
import { ERROR_PAGES, errorsPage } from './errors.ts';
import { GUIDE_PAGES } from './guides/index.ts';
import { documentationHomePage, opsByGroup, opsPage } from './index-pages.ts';
import { opPage } from './op-page.ts';

/** The data from which the pages are made. */
export interface DocumentationSources {
  /** The OpenAPI document. */
  document: DocumentNode;
  definitions: readonly OpDefinition[];
  guidelines: DocumentationPage;
  picturesOf: (op: string) => readonly PagePictures[];
}

interface PageSource {
  path: string;
  title: string;
  /** Returns the page. It is made when it is first read, and then kept. */
  page: () => DocumentationPage;
}

/** A list of pages under one title in the menu. */
export interface PageGroup {
  /** The heading in the menu below which the title is listed. */
  group: 'Guides' | 'Ops' | 'Endpoints' | 'Errors';
  title: string;
  entries: readonly PageSource[];
}

export class DocumentationLibrary {
  readonly groups: readonly PageGroup[];
  readonly #entries: ReadonlyMap<string, PageSource>;

  constructor(sources: DocumentationSources) {
    this.groups = [
      { group: 'Guides', title: 'Start', entries: startPages(sources) },
      ...opGroups(sources),
      ...endpointGroups(sources.document),
      { group: 'Errors', title: 'Codes', entries: errorPages() },
    ];
    this.#entries = new Map(
      this.groups.flatMap(({ entries }) => entries.map((entry) => [entry.path, entry])),
    );
  }

  /** The page at a path below /docs, without `.md`; undefined if there is no such page. */
  find(path: string): DocumentationPage | undefined {
    return this.#entries.get(path)?.page();
  }

  /** Every page of some groups; by default, of all groups. */
  list(groups = this.groups): { path: string; page: DocumentationPage }[] {
    return groups.flatMap(({ entries }) => entries.map(({ path, page }) => ({ path, page: page() })));
  }
}

function startPages({ definitions, guidelines, picturesOf }: DocumentationSources): PageSource[] {
  const guides = Object.entries(GUIDE_PAGES).map(([name, page]) => ({
    path: `guides/${name}`,
    title: page.title,
    page: () => page,
  }));
  return [
    { path: 'index', title: 'Overview', page: lazy(() => documentationHomePage(definitions, picturesOf)) },
    ...guides,
    { path: 'guidelines', title: 'Guidelines for agents', page: () => guidelines },
  ];
}

function opGroups({ definitions, picturesOf }: DocumentationSources): PageGroup[] {
  const all = { path: 'ops', title: 'All ops', page: lazy(() => opsPage(definitions, picturesOf)) };
  return opsByGroup(definitions).map(({ title, definitions }, index): PageGroup => {
    const entries = definitions.map((definition) => ({
      path: `ops/${definition.op}`,
      title: definition.op,
      page: lazy(() => opPage(definition, picturesOf(definition.op))),
    }));
    return { group: 'Ops', title, entries: index === 0 ? [all, ...entries] : entries };
  });
}

/** The pages of endpoints by tag, in the order in which the OpenAPI document lists the tags. */
function endpointGroups(document: DocumentNode): PageGroup[] {
  const tags = (document.tags ?? []) as Array<{ name: string }>;
  const operations = operationsOf(document);
  return tags
    .map(
      ({ name }): PageGroup => ({
        group: 'Endpoints',
        title: name,
        entries: operations
          .filter(({ operation }) => ((operation.tags ?? []) as string[]).includes(name))
          .map(({ path, method, operation }): PageSource => {
            const documented = operation as unknown as DocumentedOperation;
            return {
              path: documented.operationId,
              title: documented.summary ?? documented.operationId,
              page: lazy(() => endpointPage({ path, method, operation: documented }, document)),
            };
          }),
      }),
    )
    .filter(({ entries }) => entries.length > 0);
}

function errorPages(): PageSource[] {
  return [
    { path: 'errors', title: 'All errors', page: lazy(errorsPage) },
    { path: 'warnings', title: 'Warnings', page: () => WARNINGS_PAGE },
    ...Object.entries(ERROR_PAGES).map(([code, page]) => ({
      path: `errors/${code}`,
      title: code,
      page: () => page,
    })),
  ];
}
