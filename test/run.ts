import { join } from 'node:path';
import { startMongo } from '../bench/services/mongodb.ts';
import { startRedis } from '../bench/services/redis.ts';
import { type Need, needsOf, testFiles } from './support/needs.ts';
import { installGenerators } from './support/services/client-generators.ts';
import { findKubernetesValidate } from './support/services/kubernetes-validate.ts';
import { findS3Server } from './support/services/s3-server.ts';
import {
  countsIn,
  cpuIn,
  durationsIn,
  failedFilesIn,
  failuresIn,
  longestOf,
  skippedIn,
} from './support/tap-output.ts';
import { processesFor, runEach, runProcess, type TestProcess } from './support/test-processes.ts';

/**
 * `npm test`: runs every test on the embedded stores, and once more, on Redis and MongoDB, those that declare it. Its
 * arguments are files to run instead of all; `--fast` (`npm run test:fast`) takes those that need nothing. Starts the
 * services and installs the tools that the chosen files need, beside the files that need none of them. A few files that
 * failed are run a second time, alone. Ends with the tests that were skipped, the files that passed only alone, and a
 * line that counts all tests; exits 1 when a test failed, or when CI=true and a service or a tool is missing.
 */
const root = join(import.meta.dirname, '..');
const MAX_FILES_SHOWN = 15;
/** More failures than these are a fault of the code and not of a busy machine, so no file is run again. */
const MAX_FILES_RUN_AGAIN = 3;

const USAGE = `npm test [-- FILE.test.ts …]     the files named, or all of them
npm run test:fast               those that need no service

Starts the services that the files need, and ends with what was skipped and a line that counts.
`;

/** A process of tests, with those of its files that failed and the number of failed tests. */
interface FailedProcess extends TestProcess {
  fail: number;
}

const args = process.argv.slice(2);
if (args.includes('--help')) {
  process.stdout.write(USAGE);
  process.exit(0);
}
const files = chosenFiles();
const needed = new Set(files.flatMap(needsOf));

const missing: string[] = [];
// A Java server and its build run so shortly that the second compiler takes more of the cores than it saves.
process.env.JAVA_TOOL_OPTIONS ??= '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC';
const stores = Promise.all([
  needs('redis', 'both stores') ? found('Redis', startRedis()) : null,
  needs('mongodb', 'both stores') ? found('MongoDB', startMongo()) : null,
]);
const tools: { [need in Need]?: Promise<unknown> | false } = {
  s3: needs('s3') && found('A server of S3', findS3Server()),
  checkers: needs('checkers') && found('kubernetes-validate', findKubernetesValidate()),
  clients: needs('clients') && found('Generators of clients', installGenerators()),
};
// Processes of tests, and the services that they start, load the same modules: much of a start is compiling them.
const environment = { NODE_COMPILE_CACHE: join(root, '.cache', 'compile') };
const onBoth = files.filter((file) => needsOf(file).includes('both stores'));
const outputs: string[] = [];
const broken: string[] = [];
/** The processes in which a test failed. */
let failed: FailedProcess[] = [];
const passedAlone: string[] = [];

try {
  await runEach([...processesFor(files, false), ...processesFor(onBoth, true)], run);
  if (failed.flatMap((one) => one.files).length <= MAX_FILES_RUN_AGAIN) await runFailedAgain();
  report();
} finally {
  for (const store of await stores) await store?.stop();
}
process.exit();

function chosenFiles(): string[] {
  const isFast = (file: string) => needsOf(file).includes('nothing');
  if (args.includes('--fast')) return testFiles().filter(isFast);
  return args.length > 0 ? args : testFiles();
}

function needs(...some: Need[]): boolean {
  return some.some((need) => needed.has(need));
}

function needsStores(file: string): boolean {
  return needsOf(file).some((need) => need === 'redis' || need === 'mongodb');
}

/** The variables that name the stores which were brought up. */
async function storeUrls(): Promise<Record<string, string>> {
  const [redis, mongodb] = await stores;
  return { ...(redis && { REDIS_URL: redis.url }), ...(mongodb && { MONGODB_URL: mongodb.url }) };
}

/** What was brought up, or null, which is noted and said aloud. */
async function found<T>(name: string, starting: Promise<T | null>): Promise<T | null> {
  const service = await starting;
  if (service !== null) return service;
  missing.push(name);
  console.log(`\n*** ${name} could not be brought up: the tests that need it are skipped ***\n`);
  return null;
}

/** Runs a process; its failures are printed when it has ended. */
async function run(testProcess: TestProcess): Promise<void> {
  for (const need of testProcess.files.flatMap(needsOf)) await tools[need];
  if (testProcess.isCluster && missing.some((name) => name === 'Redis' || name === 'MongoDB')) return;
  const { output, isSuccess } = await runToEnd(testProcess);
  outputs.push(output);
  const { fail } = countsIn(output);
  if (fail > 0) failed.push({ files: failedFilesIn(output), isCluster: testProcess.isCluster, fail });
  // A process that broke without a failed test is a failure all the same.
  if (!isSuccess && fail === 0) broken.push(testProcess.files.join(', '));
  if (process.stdout.isTTY) process.stdout.write(`\r${outputs.length} processes of tests have ended `);
}

async function runToEnd(testProcess: TestProcess): Promise<{ output: string; isSuccess: boolean }> {
  const urls = testProcess.isCluster || testProcess.files.some(needsStores) ? await storeUrls() : {};
  const ended = await runProcess(testProcess, { ...environment, ...urls });
  for (const failure of failuresIn(ended.output)) console.log(failure);
  return ended;
}

/** Runs each failed file alone. A process whose failed files all pass then has not failed. */
async function runFailedAgain(): Promise<void> {
  const stillFailed: FailedProcess[] = [];
  for (const one of failed) {
    const failedAgain: string[] = [];
    for (const file of one.files) {
      console.log(`Running ${file} again, alone.`);
      const { isSuccess } = await runToEnd({ files: [file], isCluster: one.isCluster });
      (isSuccess ? passedAlone : failedAgain).push(file);
    }
    if (one.files.length === 0 || failedAgain.length > 0) stillFailed.push(one);
  }
  failed = stillFailed;
}

function report(): void {
  const output = outputs.join('\n');
  console.log(`\n${files.length} test files, ${onBoth.length} of them once more on Redis and MongoDB`);
  const cpu = cpuIn(output);
  const cpuSeconds = cpu.reduce((sum, { seconds }) => sum + seconds, 0);
  console.log(`${Math.round(cpuSeconds)} s of CPU: ${longestOf(cpu, MAX_FILES_SHOWN).join(', ')}`);
  console.log(`Slowest: ${longestOf(durationsIn(output), MAX_FILES_SHOWN).join(', ')}`);
  const skipped = [...new Set(skippedIn(output))];
  if (skipped.length > 0) console.log(`\nSkipped:\n${skipped.map((test) => `  ${test}`).join('\n')}`);
  if (broken.length > 0) console.log(`\nBroken:\n${broken.map((test) => `  ${test}`).join('\n')}`);
  if (passedAlone.length > 0)
    console.log(
      `\nFailed beside other files and passed alone:\n${passedAlone.map((file) => `  ${file}`).join('\n')}`,
    );
  const { pass, skip } = countsIn(output);
  const fail = failed.reduce((sum, one) => sum + one.fail, 0) + broken.length;
  console.log(`\n${pass} passed, ${fail} failed, ${skip} skipped`);
  const isIncomplete = missing.length > 0 && process.env.CI === 'true';
  if (fail > 0 || pass === 0 || isIncomplete) process.exitCode = 1;
}
