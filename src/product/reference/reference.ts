import { lineOf, SCENES, type Scene } from '../../../docs/gallery/scenes.ts';
import { StaticFiles } from '../../platform/http/static/files.ts';
import { pageMarkdown } from '../../platform/pages/markdown.ts';
import type { PagePicture, PagePictures } from '../../platform/pages/page.ts';
import { otherNamesOfOp } from '../catalogue/usual-words.ts';
import type { IndexedPage } from './indexed-page.ts';
import { documentationAddress, documentationHtml } from './layout.ts';
import { DocumentationLibrary, type DocumentationSources } from './library.ts';
import { llmsFullText, llmsText, skillText } from './llms.ts';

const FOLDER = new URL('../../../docs/gallery/', import.meta.url);

/** The scenes of the gallery that show an op. */
const OF_OPS = SCENES.filter(({ op }) => op !== undefined);

/** The files of those scenes, each once. */
const GALLERY_FILES: readonly URL[] = [...new Set(OF_OPS.flatMap(filesOf))].map(
  (path) => new URL(path, FOLDER),
);

const FILES = [
  new URL('../../platform/http/static/browser/base.css', import.meta.url),
  new URL('./browser/reference.css', import.meta.url),
  new URL('./browser/favicon.svg', import.meta.url),
  new URL('./browser/reference.ts', import.meta.url),
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

const SAMPLE = /```[\s\S]*?```/g;
const WORD = /[\p{L}\p{N}_]{2,}/gu;

/**
 * Every page with each of its words once, without its samples. Pages of ops include the names that other services use.
 */
function searchIndex(library: DocumentationLibrary): IndexedPage[] {
  return library.list().map(({ path, page }) => {
    const { title, lead } = page;
    const written = pageMarkdown(page).replaceAll(SAMPLE, '').toLowerCase();
    const text = [written, ...otherNamesOfOp(path.replace('ops/', ''))].join(' ');
    const shown = new Set(`${title} ${lead}`.toLowerCase().match(WORD));
    const words = new Set(text.match(WORD)?.filter((word) => !shown.has(word)));
    return [documentationAddress(path), title, lead.replaceAll('`', ''), [...words].join(' ')];
  });
}

/** Pictures of what an op does: a pair for each of its scenes. */
function galleryPicturesOf(op: string, files: StaticFiles): PagePictures[] {
  return OF_OPS.filter((scene) => scene.op === op).map(({ source, picture, caption, call }) => {
    const { query } = call;
    const after = query === undefined ? caption : `${caption} \`${lineOf(call)}\``;
    const before: PagePicture[] =
      source === undefined
        ? []
        : [{ label: 'Before', address: files.addressFor(source), alt: `The picture before ${op}` }];
    return {
      kind: 'pictures',
      pictures: [
        ...before,
        { label: after, address: files.addressFor(picture), alt: `The picture after ${op}` },
      ],
    };
  });
}

/** The files of a scene, as paths within the gallery. */
function filesOf({ source, picture }: Scene): string[] {
  return [...(source === undefined ? [] : [`sources/${source}`]), `pictures/${picture}`];
}
