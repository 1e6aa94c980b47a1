import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { longFunctions } from './support/long-functions.ts';
import { type Misnamed, misnamedBounds, misnamedFunctions } from './support/naming.ts';
import { needsOf, testFiles } from './support/needs.ts';
import { GENERATED_FILES, repeatedTypes } from './support/type-names.ts';

/**
 * The architecture, as a check. The folders of src are four floors: an import goes to its own floor or to a lower one.
 * Below the host, the folders of one floor import each other in one direction; those of workers/image import only those
 * before them in IMAGE_FOLDERS. The client stands beside the floors, as the program of a caller does. No circle of
 * imports exists anywhere, types included. Prints every violation and exits 1.
 */
const FLOORS = ['host', 'product', 'imaging', 'platform'];
/** The host composes the others: its folders may import each other. */
const COMPOSITION = 'host';
const MAY_IMPORT_WORKERS = [
  'images',
  'readers',
  'renders',
  'fonts',
  'providers',
  'catalogue',
  'assets',
  'presets',
  'transforms',
  'delivery',
];
/** A package of its own: it imports nothing of the service, and only callers of the interface import it. */
const CLIENT = 'src/client/';
/** Folders that call the interface as a program of a caller does. */
const MAY_IMPORT_CLIENT = ['console', 'mcp', 'darkroom'];
/** Folders that start threads of their own. */
const STARTS_THREADS = ['images', 'readers', 'renders', 'providers'];
const SHARED_BY_WORKERS = [
  'workers/protocol.ts',
  'workers/transport/abort.ts',
  'workers/transport/bytes.ts',
  'workers/transport/process-state.ts',
  'workers/models/protocol.ts',
  'workers/render/protocol.ts',
  'workers/vector/protocol.ts',
  'workers/image/bounds.ts',
  'workers/image/colour/colour.ts',
  'workers/image/colour/misread-colours.ts',
  'workers/image/encode/effort.ts',
  'workers/image/encode/encoder.ts',
  'workers/image/facts/perceptual-hash.ts',
  'workers/image/frames.ts',
  'workers/image/operations/arguments.ts',
  'workers/image/operations/index.ts',
  'workers/image/operations/operation.ts',
  'workers/image/operations/parameter.ts',
  'workers/image/pixels/geometry.ts',
  'workers/image/sizing.ts',
];
/** Packages that API processes (libvips), or image threads (200 modules), do without, with what takes their place. */
const NOT_LOADED: Readonly<Record<string, string>> = {
  sharp: 'import it as a type, or take a pipeline from the picture',
  '@sinclair/typebox': 'import its types, and Type from operations/schema.ts',
};
/** The packages that the service hands to browsers. */
const LOADED_BY_BROWSERS = ['htm', 'preact', 'preact/hooks', 'uplot'];
/** The folders of workers/image, from the bottom up. The files beside them make a pass of them, or name refusals. */
const IMAGE_FOLDERS = ['pixels', 'colour', 'likeness', 'facts', 'metadata', 'encode', 'search', 'operations'];
/** Walkers of containers: they import no other folder, and every folder that may import workers may use them. */
const FORMATS = 'workers/formats/';
/** The only module that runs a pipeline for its output; it explains why. */
const OUTPUT_MODULE = 'workers/transport/output.ts';
const OUTPUT_CALL = /\.(toUint8Array|toBuffer)\(/;
/** A type that only repeats what a function happens to return. */
const INFERRED_INTERFACE =
  /^export type (\w+)[^;]*?ReturnType<\s*typeof ((?:create|open|start|connect)\w*)/gm;
/** An interface at the top of a file, and a function that returns one: the name, and the text or the maker. */
const INTERFACE = /^(?:export )?interface (\w+)[^\n]*\{\n(.*?)^\}/gms;
const RETURNED =
  /^(?:export )?(?:async )?function (\w+)(?:(?!\n\}\n).)*?\): (?:Promise<)?(\w+)(?:<[^\n]*>)?>? \{$/gms;
const FUNCTION_MEMBER = /^ {2}\w+\??(?:<[^\n]*>)?(?:\(|: \([^\n]*=>)/m;
/**
 * The interfaces that may stand beside the only function that makes them, with the reason. Any other one is a class,
 * so that a call leads to the code that runs.
 */
const MADE_ONCE: Readonly<Record<string, string>> = {
  App: 'the composition of a process, whose parts are classes',
  BaseParts: 'the parts of a process that all others stand on, opened before them',
  AssetsSlice: 'what a slice offers: parts that are classes, and calls that lead to them',
  BillingSlice: 'what a slice offers: parts that are classes, and calls that lead to them',
  CatalogueSlice: 'what a slice offers: its data and two functions',
  JobsSlice: 'what a slice offers: parts that are classes, and calls that lead to them',
  PresetsSlice: 'what a slice offers: its routes and one function',
  TemplatesSlice: 'what a slice offers: its routes and one function',
  TransformsSlice: 'what a slice offers: its routes in two groups',
  StoresToCopy: 'two ports, and how they are closed',
  ZipArchive: 'a stream that is made once, with what is known of it',
  HandedConnections: 'listeners of one worker process, and how they end',
  SentField: 'a record of a name and of how it is refused',
  ImageSourceFile: 'a record of a file; a function per kind of source makes one',
  Brightness: 'what one pass over the pixels found, asked by two functions',
  Browser: 'a process and the calls to it, which tests replace',
  DrawingLimits: 'what ends the drawing of one page',
  SampleEstimates: 'the result of a search over a sample',
  SettingOperation: 'a declaration; each operation is a value of it',
  Tool: 'a declaration; each tool for agents is a value of it',
};
const MAX_MADE_ONCE = 24;
const MAX_FUNCTION_LINES = 100;
const MAX_COMMENT_LINE = 120;
/** Longer files hold more than one thought. What is generated is not read. */
const MAX_FILE_LINES = 400;
const FORBIDDEN_NAMES = /^(utils?|helpers?|common|types|services?)(\.ts)?$/;

const root = join(import.meta.dirname, '..');
const violations: string[] = [];
/** The names of MADE_ONCE that the files have. */
const madeOnce = new Set<string>();
/** Which folders of its own floor a folder imports. */
const folderImports = new Map<string, string[]>();
const files = ['src', 'workers', 'config'].flatMap(filesBelow);
const benchFiles = filesBelow('bench');
const everyFile = [...files, ...benchFiles, ...filesBelow('docs'), ...filesBelow('test')];

for (const file of files) {
  for (const part of file.split('/'))
    if (FORBIDDEN_NAMES.test(part)) violations.push(`${file}: "${part}" names no noun of the product`);
  for (const target of importsOf(file)) checkImport(file, target);
  checkOutput(file);
  checkInterfaces(file);
  checkMadeOnce(file);
  checkLengths(file);
}
for (const name of Object.keys(MADE_ONCE))
  if (!madeOnce.has(name))
    violations.push(`MADE_ONCE names ${name}, which no file has beside its only maker: remove it`);
if (madeOnce.size > MAX_MADE_ONCE)
  violations.push(`${madeOnce.size} interfaces are made in one place: at most ${MAX_MADE_ONCE} may be`);
for (const file of everyFile) {
  checkComments(file);
  checkLength(file);
  checkNames(file, misnamedBounds);
}
for (const file of [...files, ...benchFiles]) {
  checkNames(file, misnamedFunctions);
  for (const target of importsOf(file))
    if (target.startsWith('test/')) violations.push(`${file} imports ${target}: only tests import from test`);
}
violations.push(...repeatedTypes(new Map([...files, ...benchFiles].map((file) => [file, sourceOf(file)]))));
for (const file of testFiles()) checkTest(file);
for (const file of SHARED_BY_WORKERS) checkLoads(file, (specifier) => NOT_LOADED[specifier]);
for (const file of files.filter((one) => one.includes('/browser/')))
  checkLoads(file, (specifier) =>
    LOADED_BY_BROWSERS.includes(specifier) ? undefined : 'no browser has it, so the console would not open',
  );
for (const cycle of cyclesOf(new Map(everyFile.map((file) => [file, importsOf(file)]))))
  violations.push(`${cycle.join(' → ')}: a circle of imports; move what they share into a file of its own`);
for (const cycle of cyclesOf(folderImports))
  violations.push(`${cycle.join(' → ')}: folders of one floor import each other in a circle`);
if (files.length < 50) violations.push(`only ${files.length} files were read: the check is blind`);
report();

function filesBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name));
}

function sourceOf(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}

/** Files of the project that a file imports, as paths from the root. */
function importsOf(file: string): string[] {
  const specifiers = sourceOf(file).matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'|new URL\('(\.[^']+)'/g);
  return [...specifiers].map(([, imported, spawned]) =>
    normalize(join(dirname(file), imported ?? spawned ?? '')),
  );
}

function checkImport(file: string, target: string): void {
  if (file.startsWith('workers/')) {
    if (!target.startsWith('workers/')) violations.push(`${file} imports ${target}: workers stand alone`);
    if (file.startsWith(FORMATS) && !target.startsWith(FORMATS))
      violations.push(`${file} imports ${target}: ${FORMATS} knows files, and no other folder`);
    checkImageFolders(file, target);
    return;
  }
  if (file.startsWith(CLIENT) || target.startsWith(CLIENT)) {
    checkClient(file, target);
    return;
  }
  if (target.startsWith('workers/')) {
    checkWorkers(file, target);
    return;
  }
  if (!file.startsWith('src/')) return;
  const floor = floorOf(file);
  if (target.startsWith('config/')) {
    if (floor !== COMPOSITION && !target.endsWith('.json'))
      violations.push(
        `${file} imports ${target}: the host reads the settings, and hands each folder its own`,
      );
    return;
  }
  if (!target.startsWith('src/')) return;
  const targetFloor = floorOf(target);
  if (FLOORS.indexOf(targetFloor) < FLOORS.indexOf(floor))
    violations.push(`${file} imports ${target}: from the floor ${floor} up to ${targetFloor}`);
  if (targetFloor === floor && floor !== COMPOSITION) linkFolders(folderOf(file), folderOf(target));
}

function checkClient(file: string, target: string): void {
  if (!target.startsWith(CLIENT)) violations.push(`${file} imports ${target}: the client stands alone`);
  else if (!file.startsWith(CLIENT) && !MAY_IMPORT_CLIENT.includes(folderOf(file)))
    violations.push(`${file} imports ${target}: only ${MAY_IMPORT_CLIENT.join(' and ')} call the interface`);
}

/** @param target a file of workers, as `file` is. */
function checkImageFolders(file: string, target: string): void {
  const [from, to] = [imageFolderOf(file), imageFolderOf(target)];
  if (from === undefined || to === undefined) return;
  if (IMAGE_FOLDERS.indexOf(to) > IMAGE_FOLDERS.indexOf(from))
    violations.push(`${file} imports ${target}: the order is ${IMAGE_FOLDERS.join(', ')}`);
}

/** The folder of a file below workers/image; undefined for one that lies beside the folders, or elsewhere. */
function imageFolderOf(file: string): string | undefined {
  const [, folder] = /^workers\/image\/([^/]+)\//.exec(file) ?? [];
  if (folder !== undefined && !IMAGE_FOLDERS.includes(folder))
    violations.push(`workers/image/${folder} has no place in the order ${IMAGE_FOLDERS.join(', ')}`);
  return folder;
}

function linkFolders(from: string, to: string): void {
  if (from === to) return;
  folderImports.set(from, [...(folderImports.get(from) ?? []), to]);
}

function checkWorkers(file: string, target: string): void {
  const folder = folderOf(file);
  const isThread =
    STARTS_THREADS.includes(folder) &&
    sourceOf(file).includes(`new URL('${relative(dirname(file), target)}'`);
  if (isThread) return;
  const isShared = SHARED_BY_WORKERS.includes(target) || target.startsWith(FORMATS);
  if (!MAY_IMPORT_WORKERS.includes(folder) || !isShared) {
    violations.push(
      `${file} looks into ${target}: only ${MAY_IMPORT_WORKERS.join(', ')} may, at ${[...SHARED_BY_WORKERS, FORMATS].join(' and ')}`,
    );
  }
}

function checkOutput(file: string): void {
  const [, call] = (file !== OUTPUT_MODULE && OUTPUT_CALL.exec(sourceOf(file))) || [];
  if (call !== undefined)
    violations.push(`${file} calls ${call}(): get the output of a pipeline by ${OUTPUT_MODULE}`);
}

/** A reader learns from its interface what a module promises, and a change of the body does not change the promise. */
function checkInterfaces(file: string): void {
  for (const [, name, maker] of sourceOf(file).matchAll(INFERRED_INTERFACE))
    violations.push(
      `${file}: ${name} is whatever ${maker} returns: write the interface ${name} first, and let ${maker} return it`,
    );
}

function checkNames(file: string, find: (source: string) => Misnamed[]): void {
  for (const { line, sentence } of find(sourceOf(file))) violations.push(`${file}:${line}: ${sentence}`);
}

/** One implementation with mutable state is a class: "go to definition" then shows the code that runs. */
function checkMadeOnce(file: string): void {
  // A hook returns closures over the state of a component, which no class holds.
  if (file.includes('/browser/')) return;
  const source = sourceOf(file);
  const returned = [...source.matchAll(RETURNED)].map(([, maker = '', type = '']) => ({ maker, type }));
  for (const [, name = '', members = ''] of source.matchAll(INTERFACE)) {
    const [made, ...others] = returned.filter(({ type }) => type === name);
    if (made === undefined || others.length > 0 || !FUNCTION_MEMBER.test(members)) continue;
    if (name in MADE_ONCE) madeOnce.add(name);
    else
      violations.push(`${file}: only ${made.maker} makes ${name}: write the class ${name} instead of both`);
  }
}

/** A function that is a story fits on a page or two; its parts are functions, or methods of a class. */
function checkLengths(file: string): void {
  for (const { name, line, lines } of longFunctions(sourceOf(file), MAX_FUNCTION_LINES))
    violations.push(
      `${file}:${line}: ${name} has ${lines} lines, and at most ${MAX_FUNCTION_LINES} are allowed: split it into functions, or make it a class`,
    );
}

/** The formatter leaves comments as they are. */
function checkComments(file: string): void {
  for (const [index, line] of sourceOf(file).split('\n').entries()) {
    if (line.length > MAX_COMMENT_LINE && /^\s*(\/\*\*|\*|\/\/)/.test(line))
      violations.push(`${file}:${index + 1}: a comment line of more than ${MAX_COMMENT_LINE} characters`);
  }
}

function checkLength(file: string): void {
  const lines = sourceOf(file).trimEnd().split('\n').length;
  if (lines > MAX_FILE_LINES && !GENERATED_FILES.includes(file))
    violations.push(`${file} has ${lines} lines, and at most ${MAX_FILE_LINES} are allowed: split it`);
}

/**
 * Checks the packages that a file loads by its imports of values, and by theirs.
 * @param objectionTo returns why the file must not load a package, and undefined if it may.
 */
function checkLoads(start: string, objectionTo: (specifier: string) => string | undefined): void {
  const paths = new Map([[start, start]]);
  for (const [file, path] of paths) {
    for (const specifier of loadedBy(file)) {
      const isFile = specifier.startsWith('.');
      const objection = isFile ? undefined : objectionTo(specifier);
      if (objection !== undefined) violations.push(`${path} loads ${specifier}: ${objection}`);
      if (!isFile) continue;
      const target = normalize(join(dirname(file), specifier));
      if (!paths.has(target)) paths.set(target, `${path} → ${target}`);
    }
  }
}

/** The specifiers that a file imports by value. */
function loadedBy(file: string): string[] {
  const specifiers = sourceOf(file).matchAll(/^(?:import|export)\s(?!type\b)[^;]*?from\s*'([^']+)'/gm);
  return [...specifiers].map(([, specifier = '']) => specifier);
}

/** A test file says what it needs, and one that needs nothing imports no server and no service. */
function checkTest(file: string): void {
  try {
    if (!needsOf(file).includes('nothing')) return;
  } catch (error) {
    violations.push((error as Error).message);
    return;
  }
  const started = importsOf(file).filter((target) =>
    /(test\/support\/(harness|whole-service|services\/)|bench\/services\/)/.test(target),
  );
  for (const target of started) violations.push(`${file} needs nothing, but imports ${target}`);
}

/** Circles of imports, each once, found depth first: a path that returns to a file on it. */
function cyclesOf(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const cycles: string[][] = [];
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): void => {
    const at = path.indexOf(file);
    if (at !== -1) cycles.push([...path.slice(at), file]);
    if (at !== -1 || done.has(file)) return;
    path.push(file);
    for (const target of imports.get(file) ?? []) visit(target);
    path.pop();
    done.add(file);
  };
  for (const file of imports.keys()) visit(file);
  return cycles;
}

/** The floor of a file below src. */
function floorOf(file: string): string {
  const floor = file.split('/')[1] ?? '';
  if (!FLOORS.includes(floor)) violations.push(`${file} stands on no floor: ${FLOORS.join(', ')}`);
  return floor;
}

/** The folder of a file on its floor, such as `jobs`. */
function folderOf(file: string): string {
  return (file.split('/')[2] ?? '').replace(/\.ts$/, '');
}

function report(): void {
  const distinct = [...new Set(violations)];
  for (const violation of distinct) console.error(violation);
  console.log(`architecture: ${files.length} files, ${distinct.length} violations`);
  if (distinct.length > 0) process.exitCode = 1;
}
