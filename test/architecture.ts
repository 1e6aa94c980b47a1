import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { needsOf, testFiles } from './needs.ts';

/**
 * The architecture, as a check: an import goes to a lower layer only, and folders of one layer do not import each other.
 * There are no circular imports, types included. Prints every violation and exits 1. A folder that is not in the table is a violation too.
 */
const LAYERS: Record<string, number> = {
  main: 1,
  server: 1,
  app: 1,
  slices: 1,
  collections: 1,
  admin: 1,
  doctor: 1,
  processes: 1,
  jobs: 2,
  images: 3,
  webhooks: 3,
  presets: 4,
  templates: 4,
  assets: 4,
  feedback: 4,
  events: 5,
  providers: 5,
  catalogue: 5,
  models: 6,
  billing: 5,
  accounts: 6,
  pixels: 6,
  outbound: 6,
  mail: 6,
  http: 7,
  sweeping: 8,
  metrics: 8,
  tracing: 9,
  stores: 9,
  capacity: 10,
  clock: 10,
  fairness: 10,
  names: 10,
};

/** Folders of the top layer make up the composition and may see each other. */
const COMPOSITION = 1;
const MAY_LOOK_INTO_WORKERS = ['pixels', 'providers', 'catalogue', 'presets', 'images'];
/** Folders that start threads of their own. */
const STARTS_THREADS = ['pixels', 'providers'];
const SHARED_BY_WORKERS = [
  'workers/protocol.ts',
  'workers/pipe.ts',
  'workers/models/protocol.ts',
  'workers/render/protocol.ts',
  'workers/vector/protocol.ts',
  'workers/image/operations/index.ts',
  'workers/image/operations/parameter.ts',
];
/** Walkers of containers: they import no other folder, and whoever may look into workers may use them. */
const FORMATS = 'workers/formats/';
/** What a pipeline made leaves it in one place: see there why. */
const OUTPUT_DOOR = 'workers/output.ts';
const OUTPUT_CALL = /\.(toUint8Array|toBuffer)\(/;
const FORBIDDEN_NAMES = /^(utils?|helpers?|common|types|services?)(\.ts)?$/;

const root = join(import.meta.dirname, '..');
const violations: string[] = [];
const files = ['src', 'workers', 'config'].flatMap(filesBelow);

for (const file of files) {
  for (const part of file.split('/'))
    if (FORBIDDEN_NAMES.test(part)) violations.push(`${file}: "${part}" names no noun of the product`);
  for (const target of importsOf(file)) judge(file, target);
  judgeOutput(file);
}
for (const file of testFiles()) judgeTest(file);
for (const file of SHARED_BY_WORKERS) judgeLoads(file);
for (const cycle of cyclesOf(new Map(files.map((file) => [file, importsOf(file)]))))
  violations.push(`${cycle.join(' → ')}: a circle of imports; move what they share into a file of its own`);
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

function judge(file: string, target: string): void {
  if (file.startsWith('workers/')) {
    if (!target.startsWith('workers/')) violations.push(`${file} imports ${target}: workers stand alone`);
    if (file.startsWith(FORMATS) && !target.startsWith(FORMATS))
      violations.push(`${file} imports ${target}: ${FORMATS} knows files, and no other folder`);
    return;
  }
  if (target.startsWith('workers/')) {
    judgeWorkers(file, target);
    return;
  }
  if (!file.startsWith('src/') || !target.startsWith('src/')) return;
  const [from, to] = [folderOf(file), folderOf(target)];
  if (from === to) return;
  const [layer, targetLayer] = [layerOf(from), layerOf(to)];
  if (layer === COMPOSITION && targetLayer === COMPOSITION) return;
  if (targetLayer <= layer)
    violations.push(`${file} (${from}, layer ${layer}) imports ${target} (${to}, layer ${targetLayer})`);
}

function judgeWorkers(file: string, target: string): void {
  const folder = folderOf(file);
  const isThread =
    STARTS_THREADS.includes(folder) &&
    sourceOf(file).includes(`new URL('${relative(dirname(file), target)}'`);
  if (isThread) return;
  const isShared = SHARED_BY_WORKERS.includes(target) || target.startsWith(FORMATS);
  if (!MAY_LOOK_INTO_WORKERS.includes(folder) || !isShared) {
    violations.push(
      `${file} looks into ${target}: only ${MAY_LOOK_INTO_WORKERS.join(', ')} may, at ${[...SHARED_BY_WORKERS, FORMATS].join(' and ')}`,
    );
  }
}

function judgeOutput(file: string): void {
  const [, call] = (file !== OUTPUT_DOOR && OUTPUT_CALL.exec(sourceOf(file))) || [];
  if (call !== undefined)
    violations.push(`${file} calls ${call}(): take what a pipeline made by ${OUTPUT_DOOR}`);
}

/** API processes read schemas and protocols without loading libvips: no import by value leads from them to sharp. */
function judgeLoads(shared: string): void {
  const ways = new Map([[shared, shared]]);
  for (const [file, way] of ways) {
    for (const specifier of loadedBy(file)) {
      if (specifier === 'sharp')
        violations.push(`${way} loads sharp: import it as a type, or take a pipeline from the picture`);
      if (!specifier.startsWith('.')) continue;
      const target = normalize(join(dirname(file), specifier));
      if (!ways.has(target)) ways.set(target, `${way} → ${target}`);
    }
  }
}

/** What a file imports by value, as it names it. */
function loadedBy(file: string): string[] {
  const specifiers = sourceOf(file).matchAll(/^(?:import|export)\s(?!type\b)[^;]*?from\s*'([^']+)'/gm);
  return [...specifiers].map(([, specifier = '']) => specifier);
}

/** A test file says what it needs, and one that needs nothing imports no server and no service. */
function judgeTest(file: string): void {
  try {
    if (!needsOf(file).includes('nothing')) return;
  } catch (error) {
    violations.push((error as Error).message);
    return;
  }
  const started = importsOf(file).filter((target) => /test\/(harness|whole-service|services\/)/.test(target));
  for (const target of started) violations.push(`${file} needs nothing, but imports ${target}`);
}

/** Circles of imports, each once, found depth first: a way that comes back to a file that it passes through. */
function cyclesOf(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const cycles: string[][] = [];
  const done = new Set<string>();
  const way: string[] = [];
  const visit = (file: string): void => {
    const at = way.indexOf(file);
    if (at !== -1) cycles.push([...way.slice(at), file]);
    if (at !== -1 || done.has(file)) return;
    way.push(file);
    for (const target of imports.get(file) ?? []) visit(target);
    way.pop();
    done.add(file);
  };
  for (const file of imports.keys()) visit(file);
  return cycles;
}

function folderOf(file: string): string {
  return (file.split('/')[1] ?? '').replace(/\.ts$/, '');
}

function layerOf(folder: string): number {
  const layer = LAYERS[folder];
  if (layer === undefined)
    violations.push(`src/${folder} has no layer: give it one in test/architecture.ts and in the design`);
  return layer ?? Number.POSITIVE_INFINITY;
}

function report(): void {
  const distinct = [...new Set(violations)];
  for (const violation of distinct) console.error(violation);
  console.log(`architecture: ${files.length} files, ${distinct.length} violations`);
  if (distinct.length > 0) process.exitCode = 1;
}
