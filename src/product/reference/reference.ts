import { lineOf, SCENES, type Scene } from '../../../docs/gallery/scenes.ts';
import { StaticFiles } from '../../platform/http/static/files.ts';
import { pageMarkdown } from '../../platform/pages/markdown.ts';
import type { DocumentationPage, PagePicture, PagePictures } from '../../platform/pages/page.ts';
import { otherNamesOfOp } from '../catalogue/usual-words.ts';
import type { IndexedPage } from './indexed-page.ts';
import { documentationAddress, documentationHtml } from './layout.ts';
import { DocumentationLibrary, type DocumentationSources } from './library.ts';
import { llmsFullText, llmsText, skillText } from './llms.ts';

const GALLERY_FOLDER = new URL('../../../docs/gallery/', import.meta.url);

/** The scenes of the gallery that show an op. Other scenes show no single op. */
const OP_SCENES = SCENES.filter(({ op }) => op !== undefined);

/** The picture files of OP_SCENES, without duplicates. */
const GALLERY_FILES: readonly URL[] = [...new Set(OP_SCENES.flatMap(sceneFiles))].map(
  (path) => new URL(path, GALLERY_FOLDER),
);

const STATIC_FILES = [
  new URL('../../platform/http/static/browser/base.css', import.meta.url),
  new URL('./browser/reference.css', import.meta.url),
  new URL('./browser/favicon.svg', import.meta.url),
  new URL('./browser/reference.ts', import.meta.url),
  new URL('./browser/search.ts', import.meta.url),
  new URL('./browser/trial.ts', import.meta.url),
  ...GALLERY_FILES,
];

/** What the documentation is made from, except the pictures, which come from the gallery. */
type TextSources = Omit<DocumentationSources, 'picturesOf'>;
/** A text for programs: the search index, a skill for agents, or a text for language models. */
export type DocumentationFile = 'search.json' | 'skill.md' | 'llms.txt' | 'llms-full.txt';

/** The texts of the documentation. Each is made when it is first read, and then cached. */
export class DocumentationTexts {
  /** The style sheets, scripts and pictures that the pages load. */
  readonly files: StaticFiles;
  readonly #library: DocumentationLibrary;
  readonly #makers: Readonly<Record<DocumentationFile, () => string>>;
  readonly #texts = new Map<string, string>();

  /** @param staticPrefix the path below which static files are served. */
  constructor(sources: TextSources, staticPrefix: string) {
    this.files = new StaticFiles(staticPrefix, STATIC_FILES);
    const picturesOf = (op: string) => galleryPicturesOf(op, this.files);
    this.#library = new DocumentationLibrary({ ...sources, picturesOf });
    this.#makers = {
      'search.json': () => JSON.stringify(searchIndex(this.#library)),
      'skill.md': () => skillText(sources.guidelines),
      'llms.txt': () => llmsText(sources.document),
      'llms-full.txt': () => llmsFullText(this.#library),
    };
  }

  /** The page at a path below /docs; undefined if there is none. */
  page(path: string, form: 'html' | 'markdown'): string | undefined {
    const page = this.#library.find(path);
    const makeHtml = (found: DocumentationPage) => documentationHtml(path, found, this.#library, this.files);
    const make = form === 'html' ? makeHtml : pageMarkdown;
    return page && this.#cachedText(`${form} ${path}`, () => make(page));
  }

  file(name: DocumentationFile): string {
    return this.#cachedText(name, this.#makers[name]);
  }

  #cachedText(name: string, make: () => string): string {
    const text = this.#texts.get(name) ?? make();
    this.#texts.set(name, text);
    return text;
  }
}

const CODE_BLOCK_PATTERN = /```[\s\S]*?```/g;
const WORD_PATTERN = /[\p{L}\p{N}_]{2,}/gu;

/**
 * The search index of all pages. It contains the words of each page without duplicates, except the words of samples.
 * For an op, it also contains the names that other services use.
 */
function searchIndex(library: DocumentationLibrary): IndexedPage[] {
  return library.list().map(({ path, page }) => {
    const { title, lead } = page;
    const markdown = pageMarkdown(page).replaceAll(CODE_BLOCK_PATTERN, '').toLowerCase();
    const text = [markdown, ...otherNamesOfOp(path.replace('ops/', ''))].join(' ');
    const titleWords = new Set(`${title} ${lead}`.toLowerCase().match(WORD_PATTERN));
    const words = new Set(text.match(WORD_PATTERN)?.filter((word) => !titleWords.has(word)));
    return [documentationAddress(path), title, lead.replaceAll('`', ''), [...words].join(' ')];
  });
}

/** The example pictures of an op: the picture before and after the op, for each of its scenes. */
function galleryPicturesOf(op: string, files: StaticFiles): PagePictures[] {
  return OP_SCENES.filter((scene) => scene.op === op).map(({ source, picture, caption, call }) => {
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
function sceneFiles({ source, picture }: Scene): string[] {
  return [...(source === undefined ? [] : [`sources/${source}`]), `pictures/${picture}`];
}
