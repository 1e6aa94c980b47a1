import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { basename, extname } from 'node:path';

/** A file in the form in which browsers get it. */
export interface StaticFile {
  type: string;
  body: string | Buffer;
}

/** A file that has its address. */
interface Addressed {
  address: string;
  /** The modules that it imports when it is loaded. */
  imports: readonly URL[];
}

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.webp': 'image/webp',
  '.avif': 'image/avif',
  '.gif': 'image/gif',
};
const HASH_CHARACTERS = 12;
const MODULE = /\.(?:ts|mjs|js)$/;
/** A statement stands at the beginning of a line, as formatters and bundlers write it. */
const STATEMENT = String.raw`(?<=^(?:import\s*|(?:import|export|\})[^'"\n]*?\bfrom\s*)['"])(?<statement>[^'"\n]+)(?=['"])`;
const CALL = String.raw`(?<=\bimport\(['"])[^'"\n]+(?=['"]\))`;
const ADDRESS = String.raw`(?<=\bnew URL\(['"])[^'"\n]+(?=['"], import\.meta\.url\))`;
/** What a module names: other modules, and files whose address it takes. */
const NAMED = new RegExp(`${STATEMENT}|${CALL}|${ADDRESS}`, 'gm');
const SOURCE_MAP = /^\/\/# sourceMappingURL=.*$/m;

/**
 * Files for browsers, served from memory. An address has the hash of its content, so that a browser may keep it for
 * ever. Each file is read at the first question for its address: a start pays for none of them. A browser gets
 * TypeScript without its types and comments, which Node removes; what a module imports, or names by
 * `new URL('./…', import.meta.url)`, is served as well, and the module gets its address.
 */
export class StaticFiles {
  readonly #prefix: string;
  readonly #packages: Readonly<Record<string, URL>>;
  readonly #sources = new Map<string, URL>();
  readonly #addressed = new Map<string, Addressed>();
  readonly #files = new Map<string, StaticFile>();

  /**
   * @param prefix the path below which the files are served, such as `/docs/static`.
   * @param files every file that may be asked for by its base name; these differ.
   * @param packages the files that modules import by the name of a package.
   */
  constructor(prefix: string, files: readonly URL[], packages: Readonly<Record<string, URL>> = {}) {
    this.#prefix = prefix;
    this.#packages = packages;
    for (const file of files) this.#sources.set(basename(file.pathname), file);
  }

  /**
   * The path of a file.
   * @param name its base name, as in the folder.
   * @throws Error if it is none of the files.
   */
  addressFor(name: string): string {
    return this.#addressOf(this.#sourceNamed(name)).address;
  }

  /** The paths of a module and of every module that is loaded with it, so that a page can ask for all at once. */
  addressesFor(name: string): string[] {
    const found = new Map<string, string>();
    const add = (source: URL) => {
      if (found.has(source.href)) return;
      const { address, imports } = this.#addressOf(source);
      found.set(source.href, address);
      for (const imported of imports) add(imported);
    };
    add(this.#sourceNamed(name));
    return [...found.values()];
  }

  /** The file with this served name; undefined for a name that no address has. */
  find(served: string): StaticFile | undefined {
    const found = this.#files.get(served);
    if (found !== undefined) return found;
    // Another process of the host may have given out the address: of a file with this stem, or of an imported module.
    for (const [name, source] of this.#sources)
      if (MODULE.test(name) || served.startsWith(`${stemOf(name)}.`)) this.#addressOf(source);
    return this.#files.get(served);
  }

  #sourceNamed(name: string): URL {
    const source = this.#sources.get(name);
    if (source === undefined) throw new Error(`${name} is none of the files for browsers.`);
    return source;
  }

  #addressOf(source: URL): Addressed {
    const known = this.#addressed.get(source.href);
    if (known !== undefined) return known;
    const name = basename(source.pathname);
    const extension = extname(name).replace(MODULE, '.js');
    const imports: URL[] = [];
    const body = this.#bodyFrom(source, imports);
    const hash = createHash('sha256').update(body).digest('hex').slice(0, HASH_CHARACTERS);
    const served = `${stemOf(name)}.${hash}${extension}`;
    this.#files.set(served, { type: TYPES[extension] ?? 'application/octet-stream', body });
    const addressed = { address: `${this.#prefix}/${served}`, imports };
    this.#addressed.set(source.href, addressed);
    return addressed;
  }

  /** @param imports gets the modules that are loaded with it. */
  #bodyFrom(source: URL, imports: URL[]): string | Buffer {
    const bytes = readFileSync(source);
    if (/\.(css|svg)$/.test(source.pathname)) return bytes.toString();
    if (!MODULE.test(source.pathname)) return bytes;
    const text = bytes.toString().replace(SOURCE_MAP, '');
    const code = source.pathname.endsWith('.ts') ? stripTypeScriptTypes(text, { mode: 'transform' }) : text;
    return code.replaceAll(NAMED, (specifier, statement) => {
      const imported = specifier.startsWith('.') ? new URL(specifier, source) : this.#packages[specifier];
      if (imported === undefined)
        throw new Error(`${source.pathname} imports ${specifier}, which is not a package for browsers.`);
      if (statement !== undefined) imports.push(imported);
      return this.#addressOf(imported).address;
    });
  }
}

/** The name of a file without its extension. */
function stemOf(name: string): string {
  return basename(name, extname(name));
}
