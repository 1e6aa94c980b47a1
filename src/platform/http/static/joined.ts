import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { basename } from 'node:path';

/** A file of joined modules, in the form in which browsers get it. */
export interface JoinedFile {
  /** Its served name, such as `jobs.0123456789ab.js`. */
  name: string;
  body: string;
  /** The addresses of the files that are loaded with it. */
  imports: readonly string[];
}

interface JoinOptions {
  /** The path below which the files are served. */
  prefix: string;
  /** The packages that modules import by name. */
  packages: Readonly<Record<string, URL>>;
  /** The address of a package. */
  addressOf: (file: URL) => string;
}

interface Module {
  source: string;
  /** The constant that holds its exports, in every file. */
  variable: string;
  /** The body of a function, which returns its exports. */
  code: string;
  exports: readonly string[];
  /** The sources of the modules that it imports, and the names of the packages. */
  imports: ReadonlySet<string>;
}

const HASH_CHARACTERS = 12;
/** The stem of the file that the others import. */
const COMMON = 'common';
/** A statement stands at the beginning of a line, as Node prints it. */
const IMPORT = /^import\s*(\w+|\{[^}]*\})\s*from\s*['"]([^'"]+)['"];?$/gm;
const EXPORT_FROM = /^export\s*\{([^}]*)\}\s*from\s*['"]([^'"]+)['"];?$/gm;
const EXPORT = /^export (?=(?:async )?(?:function|class|const) (\w+))/gm;
const OTHER_STATEMENT = /^(?:import|export)[ {].*/m;
const LATER = /(?<=\bimport\(['"])[^'"]+(?=['"]\))/g;

/**
 * Joins TypeScript modules, so that a browser asks for a few files and not for each module. A module that a page asks
 * for, or that is loaded later, has a file with all that it alone leads to; what several of them lead to is in a common
 * file. Each module becomes a function, which is called once, after those of the modules that it imports. The files
 * name each other, so that all names have a hash of all modules and packages.
 */
export class JoinedModules {
  readonly #options: JoinOptions;
  /** By their sources, in the order in which they are evaluated. */
  readonly #modules = new Map<string, Module>();
  /** The sources of the modules that have a file. */
  readonly #roots: Set<string>;
  /** The file of each module, by sources: of the only root that leads to it, or the common one. */
  readonly #homes = new Map<string, string>();
  readonly #version: string;

  /** @param entries the modules that pages ask for; they lead to all others. */
  constructor(entries: readonly URL[], options: JoinOptions) {
    this.#options = options;
    this.#roots = new Set(entries.map(({ href }) => href));
    // Reading a module adds those that it loads later.
    for (const root of this.#roots) {
      this.#read(root);
      for (const source of this.#reachedFrom(root))
        this.#homes.set(source, this.#homes.has(source) ? COMMON : root);
    }
    const codes = [...this.#modules.values()].map(({ code }) => code);
    this.#version = hashOf([...codes, ...Object.values(options.packages).map(options.addressOf)].join('\n'));
  }

  /** The files by the sources of their modules; the common one by `common`. */
  files(): Map<string, JoinedFile> {
    return new Map([COMMON, ...this.#roots].map((home) => [home, this.#fileOf(home)]));
  }

  /** Reads a module after those that it imports, none of which leads back to it. */
  #read(source: string): void {
    if (this.#modules.has(source)) return;
    const text = stripTypeScriptTypes(readFileSync(new URL(source), 'utf8'), { mode: 'transform' });
    const imports = new Set<string>();
    const { code, exports } = functionFrom(text, (specifier) => {
      const imported = specifier.startsWith('.') ? new URL(specifier, source).href : specifier;
      imports.add(imported);
      if (imported === specifier) return this.#packageVariable(specifier);
      this.#read(imported);
      return this.#modules.get(imported)?.variable ?? '';
    });
    const [unknown] = OTHER_STATEMENT.exec(code) ?? [];
    if (unknown !== undefined) throw new Error(`${source} cannot be joined because of: ${unknown}`);
    for (const [later] of code.matchAll(LATER)) this.#roots.add(new URL(later, source).href);
    this.#modules.set(source, { source, variable: `m${this.#modules.size}`, code, exports, imports });
  }

  #reachedFrom(source: string, reached = new Set<string>()): Set<string> {
    const module = this.#modules.get(source);
    if (module === undefined || reached.has(source)) return reached;
    reached.add(source);
    for (const imported of module.imports) this.#reachedFrom(imported, reached);
    return reached;
  }

  #fileOf(home: string): JoinedFile {
    const imported = this.#importedBy(home);
    const own = this.#modulesOf(home);
    const root = this.#modules.get(home);
    const body = [
      ...imported.map(([names, address]) => `import ${names} from '${address}';`),
      ...own.map((module) => `const ${module.variable} = (() => {\n${this.#linked(module)}\n})();`),
      root === undefined ? `export { ${variablesOf(own)} };` : exportOf(root),
    ].join('\n');
    const addresses = [...imported, ...this.#importedBy(COMMON)].map(([, address]) => address);
    return { name: this.#nameOf(home), body, imports: [...new Set(addresses)] };
  }

  #modulesOf(home: string): Module[] {
    return [...this.#modules.values()].filter(({ source }) => this.#homes.get(source) === home);
  }

  /** What a file imports of others: the names, and the address. */
  #importedBy(home: string): (readonly [names: string, address: string])[] {
    const { packages, addressOf } = this.#options;
    const needed = new Set([home, ...this.#modulesOf(home).flatMap(({ imports }) => [...imports])]);
    const ofCommon = this.#modulesOf(COMMON).filter(({ source }) => home !== COMMON && needed.has(source));
    return [
      ...(ofCommon.length === 0 ? [] : [[`{ ${variablesOf(ofCommon)} }`, this.#addressOf(COMMON)] as const]),
      ...Object.entries(packages)
        .filter(([name]) => needed.has(name))
        .map(([name, file]) => [`* as ${this.#packageVariable(name)}`, addressOf(file)] as const),
    ];
  }

  /** The code of a module with the addresses of the files that it loads later. */
  #linked({ source, code }: Module): string {
    return code.replaceAll(LATER, (later) => this.#addressOf(new URL(later, source).href));
  }

  #addressOf(home: string): string {
    return `${this.#options.prefix}/${this.#nameOf(home)}`;
  }

  /** The name differs from that of a module with the same stem. */
  #nameOf(home: string): string {
    const stem = home === COMMON ? COMMON : basename(home, '.ts');
    return `${stem}.${hashOf(this.#version + this.#modules.get(home)?.code)}.js`;
  }

  #packageVariable(name: string): string {
    const index = Object.keys(this.#options.packages).indexOf(name);
    if (index === -1) throw new Error(`${name} is imported, and is not a package for browsers.`);
    return `p${index}`;
  }
}

/**
 * A module as the body of a function that returns its exports.
 * @param variableOf the constant with the exports of an imported module or package.
 */
function functionFrom(text: string, variableOf: (specifier: string) => string) {
  const exports: string[] = [];
  const returned: string[] = [];
  const code = text
    .replaceAll(IMPORT, (_, names: string, from: string) => {
      const pattern = names.startsWith('{') ? names.replaceAll(' as ', ': ') : `{ default: ${names} }`;
      return `const ${pattern} = ${variableOf(from)};`;
    })
    .replaceAll(EXPORT_FROM, (_, names: string, from: string) => {
      const variable = variableOf(from);
      for (const name of names.match(/\w+/g) ?? []) {
        exports.push(name);
        returned.push(`${name}: ${variable}.${name}`);
      }
      return '';
    })
    .replaceAll(EXPORT, (_, name: string) => {
      exports.push(name);
      returned.push(name);
      return '';
    });
  return { code: `${code}\nreturn { ${returned.join(', ')} };`, exports };
}

function exportOf({ variable, exports }: Module): string {
  return exports.length === 0 ? '' : `export const { ${exports.join(', ')} } = ${variable};`;
}

function variablesOf(modules: readonly Module[]): string {
  return modules.map(({ variable }) => variable).join(', ');
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, HASH_CHARACTERS);
}
