import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { basename, extname } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { ApiError } from '../errors/errors.ts';
import { sendStaticContent } from '../hooks/caching.ts';

/** A file in the form in which browsers get it. */
export interface StaticFile {
  type: string;
  body: string | Buffer;
}

/** A file that is served, and the files that a browser loads with it. */
interface ServedFile {
  /** The path at which the file is served, with the hash of its content. */
  address: string;
  /** The URLs of the modules that this module imports statically, and not by `import()`. */
  imports: readonly URL[];
}

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.webp': 'image/webp',
  '.avif': 'image/avif',
  '.gif': 'image/gif',
};
const CONTENT_HASH_CHARACTERS = 12;
const MODULE_EXTENSION_PATTERN = /\.(?:ts|mjs|js)$/;
/**
 * Matches the names from which a module imports. The group `now` matches those of statements at the beginning of a
 * line, as Node and bundlers write them. All other matches are imported later, by `import()`.
 */
const IMPORT_SPECIFIER_PATTERN =
  /(?<=^(?:import|export|\})[^'"\n]*?\bfrom\s*['"])(?<now>[^'"\n]+)(?=['"])|(?<=\bimport\(['"])[^'"\n]+(?=['"]\))/gm;
const STYLE_SHEET_IMPORT_PATTERN = /^@import '([^']+)';$/gm;
const SOURCE_MAP_PATTERN = /^\/\/# sourceMappingURL=.*$/m;

/**
 * Files for browsers, served from memory. An address has the hash of its content, so that a browser may keep it for
 * ever. Each file is read when its address is first requested, so that a start reads none of them. TypeScript is served
 * without its types and comments. A style sheet contains the style sheets that it imports.
 */
export class StaticFiles {
  readonly #prefix: string;
  readonly #packages: Readonly<Record<string, URL>>;
  readonly #sources = new Map<string, URL>();
  /** The served files, keyed by the URL of their source. */
  readonly #served = new Map<string, ServedFile>();
  readonly #files = new Map<string, StaticFile>();

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
   * The path at which a file is served.
   * @param name its base name.
   * @throws Error if there is no such file.
   */
  addressFor(name: string): string {
    return this.#serve(this.#sourceNamed(name)).address;
  }

  /** The paths of a module and of every module that is loaded with it. */
  addressesFor(name: string): string[] {
    // The loop also visits modules that are added to the set while it runs.
    const sources = new Set([this.#sourceNamed(name).href]);
    const addresses = new Set<string>();
    for (const source of sources) {
      const { address, imports } = this.#serve(new URL(source));
      addresses.add(address);
      for (const { href } of imports) sources.add(href);
    }
    return [...addresses];
  }

  /** The `modulepreload` links with which a page loads these modules, and every module that they import, at once. */
  modulePreloads(...names: string[]): string {
    const addresses = new Set(names.flatMap((name) => this.addressesFor(name)));
    return [...addresses].map((address) => `<link rel="modulepreload" href="${address}">`).join('\n');
  }

  /** The file with this served name; undefined if no address has that name. */
  find(served: string): StaticFile | undefined {
    const found = this.#files.get(served);
    if (found !== undefined) return found;
    // The address may come from another process of the host. It belongs to a file with this stem, or to an imported
    // module.
    for (const [name, source] of this.#sources)
      if (
        served.startsWith(`${fileStemOf(name)}.`) ||
        (served.endsWith('.js') && MODULE_EXTENSION_PATTERN.test(name))
      )
        this.#serve(source);
    return this.#files.get(served);
  }

  #sourceNamed(name: string): URL {
    const source = this.#sources.get(name);
    if (source === undefined) throw new Error(`${name} is none of the files for browsers.`);
    return source;
  }

  /** Reads a file. The files that it imports are read first, because it contains their addresses. */
  #serve(source: URL): ServedFile {
    const known = this.#served.get(source.href);
    if (known !== undefined) return known;
    const name = basename(source.pathname);
    const extension = extname(name).replace(MODULE_EXTENSION_PATTERN, '.js');
    const imports: URL[] = [];
    const body = MODULE_EXTENSION_PATTERN.test(name)
      ? this.#readModule(source, imports)
      : readStaticFile(source);
    const mark = hash('sha256', body).slice(0, CONTENT_HASH_CHARACTERS);
    const served = `${fileStemOf(name)}.${mark}${extension}`;
    this.#files.set(served, { type: MEDIA_TYPES[extension] ?? 'application/octet-stream', body });
    const file = { address: `${this.#prefix}/${served}`, imports };
    this.#served.set(source.href, file);
    return file;
  }

  /** @param imports receives the modules that are loaded with this one. */
  #readModule(source: URL, imports: URL[]): string {
    const text = readFileSync(source, 'utf8').replace(SOURCE_MAP_PATTERN, '');
    const code = source.pathname.endsWith('.ts') ? stripTypeScriptTypes(text, { mode: 'transform' }) : text;
    return code.replaceAll(IMPORT_SPECIFIER_PATTERN, (specifier, now) => {
      const imported = specifier.startsWith('.') ? new URL(specifier, source) : this.#packages[specifier];
      if (imported === undefined)
        throw new Error(`${source.pathname} imports ${specifier}, which is not a package for browsers.`);
      if (now !== undefined) imports.push(imported);
      return this.#serve(imported).address;
    });
  }
}

function readStaticFile(source: URL): string | Buffer {
  if (source.pathname.endsWith('.css')) return readStyleSheet(source);
  return source.pathname.endsWith('.svg') ? readFileSync(source, 'utf8') : readFileSync(source);
}

/** Reads a style sheet, and replaces each import rule by the imported style sheet. */
function readStyleSheet(source: URL): string {
  return readFileSync(source, 'utf8').replaceAll(STYLE_SHEET_IMPORT_PATTERN, (_, imported) =>
    readStyleSheet(new URL(imported, source)),
  );
}

/** The name of a file without its extension. */
function fileStemOf(name: string): string {
  return basename(name, extname(name));
}

interface StaticOptions {
  /** The file with a served name; undefined if there is none. */
  find: (name: string) => Promise<StaticFile | undefined>;
}

const CACHE_CONTROL_FOREVER = 'public, max-age=31536000, immutable';

/** Serves GET {prefix}/{file}: a file that browsers may cache for ever, because its name contains its hash. */
export async function staticRoutes(app: FastifyInstance, { find }: StaticOptions): Promise<void> {
  app.get<{ Params: { file: string } }>(
    '/:file',
    { config: { responseType: '*/*', compress: true, isUncounted: true }, schema: { hide: true } },
    async (request, reply) => {
      const file = await find(request.params.file);
      if (file === undefined) {
        const message = 'There is no such file: load the page again, which names its files.';
        throw new ApiError('not_found', message, { param: 'file' });
      }
      return sendStaticContent(reply, file.type, file.body, CACHE_CONTROL_FOREVER);
    },
  );
}
