import { StaticFiles } from '../../platform/http/static/files.ts';
import { pageMarkdown } from '../../platform/pages/markdown.ts';
import { GALLERY_FILES, galleryPicturesOf } from './gallery.ts';
import { documentationHtml } from './layout.ts';
import { DocumentationLibrary, type DocumentationSources } from './library.ts';
import { llmsFullText, llmsText, skillText } from './llms.ts';
import { searchIndex } from './search-index.ts';

const FILES = [
  new URL('../../platform/http/static/browser/base.css', import.meta.url),
  new URL('./browser/reference.css', import.meta.url),
  new URL('./browser/favicon.svg', import.meta.url),
  new URL('./browser/reference.ts', import.meta.url),
  new URL('./browser/samples.ts', import.meta.url),
  new URL('./browser/search.ts', import.meta.url),
  new URL('./browser/trial.ts', import.meta.url),
  ...GALLERY_FILES,
];

/** The sources of the documentation, except the pictures, which come from the gallery. */
type Documented = Omit<DocumentationSources, 'picturesOf'>;

/** Every text of the documentation. Each is made when it is first read, and then cached. */
export class DocumentationTexts {
  /** The files that the pages load. */
  readonly files: StaticFiles;
  readonly #sources: Documented;
  readonly #library: DocumentationLibrary;
  readonly #texts = new Map<string, string>();

  /** @param staticPrefix the path below which static files are served. */
  constructor(sources: Documented, staticPrefix: string) {
    this.files = new StaticFiles(staticPrefix, FILES);
    this.#sources = sources;
    this.#library = new DocumentationLibrary({
      ...sources,
      picturesOf: (op) => galleryPicturesOf(op, this.files),
    });
  }

  /** The page at a path below /docs as HTML; undefined if there is none. */
  html(path: string): string | undefined {
    const page = this.#library.find(path);
    return page && this.#kept(path, () => documentationHtml(path, page, this.#library, this.files));
  }

  /** The page at a path below /docs as Markdown; undefined if there is none. */
  markdown(path: string): string | undefined {
    const page = this.#library.find(path);
    return page && this.#kept(`${path}.md`, () => pageMarkdown(page));
  }

  /** The index of the search, as JSON. */
  search(): string {
    return this.#kept('search.json', () => JSON.stringify(searchIndex(this.#library)));
  }

  /** The skill for agents with a shell. */
  skill(): string {
    return this.#kept('skill.md', () => skillText(this.#sources.guidelines));
  }

  /** The map for language models. */
  map(): string {
    return this.#kept('llms.txt', () => llmsText(this.#sources.document));
  }

  /** All guides and ops in one text. */
  full(): string {
    return this.#kept('llms-full.txt', () => llmsFullText(this.#library));
  }

  #kept(name: string, make: () => string): string {
    const text = this.#texts.get(name) ?? make();
    this.#texts.set(name, text);
    return text;
  }
}
