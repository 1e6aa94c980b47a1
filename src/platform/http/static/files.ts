import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename, extname } from 'node:path';
import { lazy } from '../lazy.ts';
import { type JoinedFile, JoinedModules } from './joined.ts';

/** A file in the form in which browsers get it. */
export interface StaticFile {
  type: string;
  body: string | Buffer;
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
const PACKAGE = /\.m?js$/;
/** What a package imports, in a statement at the beginning of a line, as bundlers write it. */
const IMPORTED = /(?<=^(?:import|export)[^'"\n]*?\bfrom\s*['"])[^'"\n]+(?=['"])/gm;
const IMPORTED_SHEET = /^@import '([^']+)';$/gm;
const SOURCE_MAP = /^\/\/# sourceMappingURL=.*$/m;

/**
 * Files for browsers, served from memory. An address has the hash of its content, so that a browser may keep it for
 * ever. Each file is read at the first question for its address: a start pays for none of them. TypeScript is served
 * without its types and comments, and joined with what it imports; a style sheet has those that it imports within it.
 */
export class StaticFiles {
  readonly #prefix: string;
  readonly #packages: Readonly<Record<string, URL>>;
  readonly #sources = new Map<string, URL>();
  readonly #addresses = new Map<string, string>();
  readonly #files = new Map<string, StaticFile>();
  /** The modules by the address of their source. */
  readonly #joined = lazy(() => this.#joinModules());

  /**
   * @param prefix the path below which the files are served, such as `/docs/static`.
   * @param files every file that may be requested by its base name. Base names are unique.
   * @param packages the files that modules import by the name of a package.
   */
  constructor(prefix: string, files: readonly URL[], packages: Readonly<Record<string, URL>> = {}) {
    this.#prefix = prefix;
    this.#packages = packages;
    for (const file of files) this.#sources.set(basename(file.pathname), file);
  }

  /**
   * The path of a file.
   * @param name its base name.
   * @throws Error if there is no such file.
   */
  addressFor(name: string): string {
    const source = this.#sources.get(name);
    if (source === undefined) throw new Error(`${name} is none of the files for browsers.`);
    const joined = isModule(name) ? this.#joined().get(source.href) : undefined;
    return joined === undefined ? this.#addressOf(source) : `${this.#prefix}/${joined.name}`;
  }

  /** The paths of a module and of every file that is loaded with it, so that a page can ask for all at once. */
  addressesFor(name: string): string[] {
    const { imports = [] } = this.#joined().get(this.#sources.get(name)?.href ?? '') ?? {};
    return [this.addressFor(name), ...imports];
  }

  /** The file with this served name; undefined if no address has that name. */
  find(served: string): StaticFile | undefined {
    const found = this.#files.get(served);
    if (found !== undefined) return found;
    // Another process of the host may have given out the address.
    if (served.endsWith('.js')) this.#joined();
    for (const [name, source] of this.#sources)
      if (!isModule(name) && served.startsWith(`${stemOf(name)}.`)) this.#addressOf(source);
    return this.#files.get(served);
  }

  #joinModules(): Map<string, JoinedFile> {
    const entries = [...this.#sources.values()].filter(({ pathname }) => isModule(pathname));
    const options = {
      prefix: this.#prefix,
      packages: this.#packages,
      addressOf: (file: URL) => this.#addressOf(file),
    };
    const joined = new JoinedModules(entries, options).files();
    for (const { name, body } of joined.values()) this.#files.set(name, { type: TYPES['.js'] ?? '', body });
    return joined;
  }

  /** The path of a file that is no module of ours. */
  #addressOf(source: URL): string {
    const known = this.#addresses.get(source.href);
    if (known !== undefined) return known;
    const name = basename(source.pathname);
    const extension = extname(name).replace(PACKAGE, '.js');
    const body = this.#readBody(source);
    const hash = createHash('sha256').update(body).digest('hex').slice(0, HASH_CHARACTERS);
    const served = `${stemOf(name)}.${hash}${extension}`;
    this.#files.set(served, { type: TYPES[extension] ?? 'application/octet-stream', body });
    const address = `${this.#prefix}/${served}`;
    this.#addresses.set(source.href, address);
    return address;
  }

  #readBody(source: URL): string | Buffer {
    if (source.pathname.endsWith('.css')) return readSheet(source);
    const bytes = readFileSync(source);
    if (source.pathname.endsWith('.svg')) return bytes.toString();
    if (!PACKAGE.test(source.pathname)) return bytes;
    return bytes
      .toString()
      .replace(SOURCE_MAP, '')
      .replaceAll(IMPORTED, (name) => {
        const imported = this.#packages[name];
        if (imported === undefined)
          throw new Error(`${source.pathname} imports ${name}, which is not a package for browsers.`);
        return this.#addressOf(imported);
      });
  }
}

/** A style sheet with those that it imports in their places. */
function readSheet(source: URL): string {
  return readFileSync(source, 'utf8').replaceAll(IMPORTED_SHEET, (_, imported) =>
    readSheet(new URL(imported, source)),
  );
}

function isModule(name: string): boolean {
  return name.endsWith('.ts');
}

/** The name of a file without its extension. */
function stemOf(name: string): string {
  return basename(name, extname(name));
}
