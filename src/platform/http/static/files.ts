import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { basename, extname } from 'node:path';

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
const IMPORT = /(?<=from ')\.{1,2}\/[^']*?([^/']+\.ts)(?=')/g;

/**
 * Files for browsers, served from memory. An address has the hash of its content, so that a browser may keep it for
 * ever. Each file is read at the first question for its address: a start pays for none of them. A browser gets
 * TypeScript without its types, which Node removes; its imports lead to the addresses of the imported files.
 */
export class StaticFiles {
  readonly #prefix: string;
  readonly #sources = new Map<string, URL>();
  readonly #addresses = new Map<string, string>();
  readonly #files = new Map<string, StaticFile>();

  /**
   * @param prefix the path below which the files are served, such as `/docs/static`.
   * @param files every file that may be asked for; their base names differ.
   */
  constructor(prefix: string, files: readonly URL[]) {
    this.#prefix = prefix;
    for (const file of files) this.#sources.set(basename(file.pathname), file);
  }

  /**
   * The path of a file.
   * @param name its base name, as in the folder.
   * @throws Error if it is none of the files.
   */
  addressFor(name: string): string {
    const known = this.#addresses.get(name);
    if (known !== undefined) return known;
    const source = this.#sources.get(name);
    if (source === undefined) throw new Error(`${name} is none of the files for browsers.`);
    const extension = extname(name).replace('.ts', '.js');
    const body = this.#bodyFrom(name, readFileSync(source));
    const hash = createHash('sha256').update(body).digest('hex').slice(0, HASH_CHARACTERS);
    const served = `${basename(name, extname(name))}.${hash}${extension}`;
    this.#files.set(served, { type: TYPES[extension] ?? 'application/octet-stream', body });
    const address = `${this.#prefix}/${served}`;
    this.#addresses.set(name, address);
    return address;
  }

  /** The file with this served name; undefined for a name that no address has. */
  find(served: string): StaticFile | undefined {
    const found = this.#files.get(served);
    if (found !== undefined) return found;
    // Another process of the host may have given out the address.
    const [, stem, extension] = /^(.+)\.[0-9a-f]+(\.\w+)$/.exec(served) ?? [];
    const name = [`${stem}${extension}`, `${stem}.ts`].find((one) => this.#sources.has(one));
    if (name === undefined) return undefined;
    this.addressFor(name);
    return this.#files.get(served);
  }

  #bodyFrom(name: string, bytes: Buffer): string | Buffer {
    if (name.endsWith('.ts'))
      return stripTypeScriptTypes(bytes.toString()).replaceAll(IMPORT, (_, imported) =>
        this.addressFor(imported),
      );
    return /\.(css|svg)$/.test(name) ? bytes.toString() : bytes;
  }
}
