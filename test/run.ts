import { spawn } from 'node:child_process';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startMinio } from './services/minio.ts';
import { startMongo } from './services/mongodb.ts';
import { startRedis } from './services/redis.ts';

/**
 * `npm test`: brings up Redis, MongoDB and an S3 service, runs every test on the embedded stores, and once more, on Redis and
 * MongoDB, those that talk to a whole server. Words after it are files to run instead of all. Ends with a line that
 * counts the tests; exits 1 when one failed, or when CI=true and a part is missing.
 */
const root = join(import.meta.dirname, '..');
const asked = process.argv.slice(2);
const MOST_LINES_OF_A_FAILURE = 30;

interface Counts {
  pass: number;
  fail: number;
  skip: number;
}

await buildRunner();
const files = asked.length > 0 ? asked : await testFiles();
const [redis, mongodb, minio] = await Promise.all([startRedis(), startMongo(), startMinio()]);
const missing = Object.entries({ Redis: redis, MongoDB: mongodb, S3: minio }).filter(
  ([, server]) => server === null,
);
for (const [name] of missing)
  console.log(`\n*** ${name} could not be brought up: the tests that need it are skipped ***\n`);

try {
  const environment: Record<string, string> = {
    ...(redis === null ? {} : { REDIS_URL: redis.url }),
    ...(mongodb === null ? {} : { MONGODB_URL: mongodb.url }),
    ...(minio === null ? {} : { TEST_S3_URL: minio.url }),
  };
  const runs = [await tap('embedded', files, environment)];
  if (redis !== null && mongodb !== null) {
    const whole = await filesWithServer(files);
    if (whole.length > 0) runs.push(await tap('cluster', whole, { ...environment, TEST_STORES: 'cluster' }));
  }
  const sum = (key: keyof Counts) => runs.reduce((total, counts) => total + counts[key], 0);
  console.log(`\n${sum('pass')} passed, ${sum('fail')} failed, ${sum('skip')} skipped`);
  if (sum('fail') > 0 || sum('pass') === 0 || (missing.length > 0 && process.env.CI === 'true'))
    process.exitCode = 1;
} finally {
  await Promise.all([redis?.stop(), mongodb?.stop(), minio?.stop()]);
}
process.exit();

async function testFiles(): Promise<string[]> {
  const names = await readdir(join(root, 'test'), { recursive: true });
  return names
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join('test', name))
    .sort();
}

async function filesWithServer(all: string[]): Promise<string[]> {
  const sources = await Promise.all(all.map((file) => readFile(join(root, file), 'utf8')));
  return all.filter((_file, index) => /harness\.ts/.test(sources[index] ?? ''));
}

/** tap's runner is built from the plugins that .taprc leaves it: without its transpiler, Node runs the tests as they are. */
async function buildRunner(): Promise<void> {
  const code = await tapCommand(['build'], 'ignore');
  if (code !== 0) throw new Error(`tap build ended with ${code}.`);
}

/** One run of tap. A terminal follows it; elsewhere its failures and its closing line are printed when it has ended. */
async function tap(stores: string, run: string[], environment: Record<string, string>): Promise<Counts> {
  console.log(`\n# ${run.length} test files on ${stores} stores`);
  await mkdir(join(root, '.tap'), { recursive: true });
  const file = join(root, '.tap', `${stores}.tap`);
  const reporter = process.stdout.isTTY ? 'terse' : 'silent';
  const code = await tapCommand(
    ['run', `--reporter=${reporter}`, `--output-file=${file}`, ...run],
    'inherit',
    environment,
  );
  const output = await readFile(file, 'utf8');
  if (!process.stdout.isTTY) console.log([...failuresIn(output), closingIn(output)].join('\n'));
  const counts = countsIn(output);
  // A run that broke without a failed test is a failure all the same.
  return code !== 0 && counts.fail === 0 ? { ...counts, fail: 1 } : counts;
}

/** The lines of what failed, as tap wrote them: each with the diagnosis below it, cut where it is long. */
function failuresIn(output: string): string[] {
  const lines = output.split('\n');
  return lines.flatMap((line, at) => {
    if (!/^ *not ok /.test(line)) return [];
    const end = lines.findIndex((later, index) => index > at && /^ *\.\.\.$/.test(later));
    return lines.slice(at, Math.min(end === -1 ? at : end, at + MOST_LINES_OF_A_FAILURE) + 1);
  });
}

function tapCommand(
  words: string[],
  output: 'inherit' | 'ignore',
  environment: Record<string, string> = {},
): Promise<number> {
  const child = spawn('tap', words, {
    cwd: root,
    stdio: ['ignore', output, output],
    env: { ...process.env, ...environment, PATH: `${join(root, 'node_modules/.bin')}:${process.env.PATH}` },
  });
  return new Promise((resolve) => child.once('exit', (code) => resolve(code ?? 1)));
}

/** tap's closing comment, such as `# { total: 12, pass: 11, skip: 1 }`. */
function closingIn(output: string): string {
  return output.match(/^# \{ total: \d+,.*\}$/gm)?.at(-1) ?? 'tap did not come to its end';
}

function countsIn(output: string): Counts {
  const closing = closingIn(output);
  const read = (key: string) => Number(new RegExp(`\\b${key}: (\\d+)`).exec(closing)?.[1] ?? 0);
  return { pass: read('pass'), fail: read('fail'), skip: read('skip') + read('todo') };
}
