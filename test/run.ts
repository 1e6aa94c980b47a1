import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startMongo } from '../bench/services/mongodb.ts';
import { startRedis } from '../bench/services/redis.ts';
import { type Need, needsOf, testFiles } from './support/needs.ts';
import { installGenerators } from './support/services/client-generators.ts';
import { findKubernetesValidate } from './support/services/kubernetes-validate.ts';
import { findMinio } from './support/services/minio.ts';
import {
  closingIn,
  countsIn,
  failuresIn,
  type RunCounts,
  skippedIn,
  slowestIn,
} from './support/tap-output.ts';

/**
 * `npm test`: runs every test on the embedded stores, and once more, on Redis and MongoDB, those that declare it. Its
 * arguments are files to run instead of all; `--fast` (`npm run test:fast`) takes those that need nothing. Starts the
 * services that the chosen files need; the files that need a tool come last, and it is built or installed beside the
 * others. Ends with the tests that were skipped and a line that counts them all; exits 1 when a test failed, or when
 * CI=true and a service or a tool is missing.
 */
const root = join(import.meta.dirname, '..');
const TAP_FOLDER = join(root, '.tap');
const SLOWEST_SHOWN = 10;

/**
 * tap has each process search the text of every module that it loads for source maps, which takes a third of the start
 * of a service. There are none. tap itself sets the pattern of what is left out, so that it is set again in the
 * process.
 */
const UNSEARCHED = 'data:text/javascript,process.env._TAPJS_PROCESSINFO_EXCLUDE_=/./';

const USAGE = `npm test [-- FILE.test.ts …]     the files named, or all of them
npm run test:fast               those that need no service

Starts the services that the files need, and ends with what was skipped and a line that counts.
`;

const args = process.argv.slice(2);
if (args.includes('--help')) {
  process.stdout.write(USAGE);
  process.exit(0);
}
const files = chosenFiles();
const needed = new Set(files.flatMap(needsOf));
await buildRunner();

const missing: string[] = [];
const [redis, mongodb] = await Promise.all([
  needs('redis', 'both stores') ? found('Redis', startRedis()) : undefined,
  needs('mongodb', 'both stores') ? found('MongoDB', startMongo()) : undefined,
]);
const tools = Promise.all([
  needs('s3') && found('MinIO', findMinio()),
  needs('checkers') && found('kubernetes-validate', findKubernetesValidate()),
  needs('clients') && found('Generators of clients', installGenerators()),
]);

try {
  const environment: Record<string, string> = {
    // Each test file and each service that it starts loads the same modules: most of the time of a start is compiling
    // them.
    NODE_COMPILE_CACHE: join(root, '.cache', 'compile'),
    NODE_OPTIONS: [process.env.NODE_OPTIONS, `--import=${UNSEARCHED}`].filter(Boolean).join(' '),
    ...(redis ? { REDIS_URL: redis.url } : {}),
    ...(mongodb ? { MONGODB_URL: mongodb.url } : {}),
  };
  const [withTools, others] = [files.filter(needsTools), files.filter((file) => !needsTools(file))];
  const onBoth = files.filter((file) => needsOf(file).includes('both stores'));
  const runs: RunCounts[] = [];
  if (others.length > 0) runs.push(await tap('embedded stores', others, environment));
  if (redis && mongodb && onBoth.length > 0)
    runs.push(await tap('cluster stores', onBoth, { ...environment, TEST_STORES: 'cluster' }));
  await tools;
  if (withTools.length > 0) runs.push(await tap('tools', withTools, environment));
  report(runs);
} finally {
  await Promise.all([redis?.stop(), mongodb?.stop()]);
}
process.exit();

function chosenFiles(): string[] {
  const isFast = (file: string) => needsOf(file).every((need) => need === 'nothing');
  if (args.includes('--fast')) return testFiles().filter(isFast);
  return args.length > 0 ? args : testFiles();
}

function needs(...some: Need[]): boolean {
  return some.some((need) => needed.has(need));
}

function needsTools(file: string): boolean {
  return needsOf(file).some((need) => need === 's3' || need === 'checkers' || need === 'clients');
}

/** What was brought up, or null, which is noted and said aloud. */
async function found<T>(name: string, starting: Promise<T | null>): Promise<T | null> {
  const service = await starting;
  if (service !== null) return service;
  missing.push(name);
  console.log(`\n*** ${name} could not be brought up: the tests that need it are skipped ***\n`);
  return null;
}

/**
 * tap's runner is built from the plugins that .taprc leaves it: without its transpiler, Node runs the tests as they
 * are. It takes seconds, so it is built again only when the packages or .taprc changed.
 */
async function buildRunner(): Promise<void> {
  const hash = createHash('sha256');
  for (const file of ['package-lock.json', '.taprc']) hash.update(await readFile(join(root, file)));
  const stamp = join(TAP_FOLDER, 'built-from');
  const current = hash.digest('hex');
  if (existsSync(stamp) && (await readFile(stamp, 'utf8')) === current) return;
  const code = await tapCommand(['build'], 'ignore');
  if (code !== 0) throw new Error(`tap build ended with ${code}.`);
  await mkdir(TAP_FOLDER, { recursive: true });
  await writeFile(stamp, current);
}

/** One run of tap. A terminal follows it; elsewhere its failures and its closing line are printed when it has ended. */
async function tap(kind: string, run: string[], environment: Record<string, string>): Promise<RunCounts> {
  console.log(`\n# ${run.length} test files with ${kind}`);
  const file = join(TAP_FOLDER, `${kind.replaceAll(' ', '-')}.tap`);
  const reporter = process.stdout.isTTY ? 'terse' : 'silent';
  const code = await tapCommand(
    ['run', `--reporter=${reporter}`, `--output-file=${file}`, ...run],
    'inherit',
    environment,
  );
  const output = await readFile(file, 'utf8');
  if (!process.stdout.isTTY) console.log([...failuresIn(output), closingIn(output)].join('\n'));
  if (run.length > SLOWEST_SHOWN) console.log(`# slowest: ${slowestIn(output, SLOWEST_SHOWN).join(', ')}`);
  const counts = { ...countsIn(output), skipped: skippedIn(output) };
  // A run that broke without a failed test is a failure all the same.
  return code !== 0 && counts.fail === 0 ? { ...counts, fail: 1 } : counts;
}

function tapCommand(
  args: string[],
  output: 'inherit' | 'ignore',
  environment: Record<string, string> = {},
): Promise<number> {
  const child = spawn('tap', args, {
    cwd: root,
    stdio: ['ignore', output, output],
    env: { ...process.env, ...environment, PATH: `${join(root, 'node_modules/.bin')}:${process.env.PATH}` },
  });
  return new Promise((resolve) => child.once('exit', (code) => resolve(code ?? 1)));
}

function report(runs: readonly RunCounts[]): void {
  const skipped = [...new Set(runs.flatMap((run) => run.skipped))];
  if (skipped.length > 0) console.log(`\nSkipped:\n${skipped.map((test) => `  ${test}`).join('\n')}`);
  const sum = (key: 'pass' | 'fail' | 'skip') => runs.reduce((total, run) => total + run[key], 0);
  console.log(`\n${sum('pass')} passed, ${sum('fail')} failed, ${sum('skip')} skipped`);
  const isIncomplete = missing.length > 0 && process.env.CI === 'true';
  if (sum('fail') > 0 || sum('pass') === 0 || isIncomplete) process.exitCode = 1;
}
