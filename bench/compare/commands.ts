import { execFileSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { parseJsonOrUndefined } from '../../src/platform/values/json.ts';
import { importSuite, withOverrides } from '../load/checked-suite.ts';
import { inspectInstance, remarksOn } from '../load/instance.ts';
import { type Round, runRounds } from '../load/run.ts';
import {
  environmentOf,
  type LoadTarget,
  openTarget,
  startTarget,
  type TargetOptions,
} from '../load/target.ts';
import type { BenchOptions } from '../options.ts';
import { type ReportCheck, skippedOf } from '../report/formats.ts';
import { hostFacts, type LoadReport } from '../report/load-report.ts';
import { plottedPage } from '../report/pages.ts';
import { commitOf, writeResult } from '../results.ts';
import { atExit, type Stopping, unlessStopped } from '../stopping.ts';
import { type ComparedRow, compareRounds, compareRuns, conclusionOf, nameOf, worseThan } from './rows.ts';

const NOT_INTERLEAVED = 'The runs were not interleaved: a busier machine can look like a slower service.';

/** `compare A.json B.json`: compares two reports of one suite. */
export async function runCompare(options: BenchOptions): Promise<void> {
  const [, fileA, fileB] = options.names;
  if (fileA === undefined || fileB === undefined)
    throw new Error('compare needs two results: npm run bench -- compare A.json B.json');
  const [a, b] = [await readReport(fileA), await readReport(fileB)];
  if (a.suite !== b.suite) throw new Error(`${fileA} is of the suite ${a.suite}, ${fileB} of ${b.suite}.`);
  const method = `By the slices of their stages. ${NOT_INTERLEAVED}`;
  const sides = { a: sideOf(a, fileA), b: sideOf(b, fileB) };
  const rows = compareRuns(a.stages, b.stages);
  await reportComparison({ name: `compare-${a.suite}`, sides, method, rows }, options);
}

/**
 * `<suite> --against REF`: compares this tree, or the instance at --url (B), with another side (A). The two run
 * alternately.
 */
export async function runAgainst(file: string, options: BenchOptions, { signal }: Stopping): Promise<void> {
  const suiteFile = resolve(file);
  const suite = withOverrides(await importSuite(suiteFile), options.overrides);
  console.log(`${suite.name}: ${suite.description}`);
  const { against, rounds, imagesFolder: picturesFolder } = options;
  const targetOptions = { ...options, ...environmentOf(suite) };
  await using a = await unlessStopped(openOtherSide(against, targetOptions), signal);
  await using b = await unlessStopped(openTarget(targetOptions), signal);
  for (const [side, { name, url, keys }] of Object.entries({ A: a, B: b })) {
    console.log(`${side} is ${name}.`);
    const instance = await unlessStopped(inspectInstance(url, keys), signal);
    for (const sentence of remarksOn(instance, suite)) console.log(`${side}: ${sentence}`);
  }
  const onRound = (round: number) => console.log(`${suite.name}: round ${round} of ${rounds}`);
  const done = await runRounds({ suite, suiteFile, picturesFolder, a, b, rounds, signal, onRound });
  const method = `${done.length} interleaved rounds of each stage, ratios pair by pair, intervals by Student's t over their logarithms with Holm's correction (5 % false alarms in all rows of a kind). CPU time is that of all processes of a side.`;
  const rows = compareRounds(done);
  const sides = { a: a.name, b: b.name };
  await reportComparison({ name: `${suite.name}-against`, sides, method, rows, rounds: done }, options);
}

/**
 * Compares a run with the report of `--baseline`. If that file does not exist, the report of the run is saved there.
 */
export async function compareWithBaseline(report: LoadReport, options: BenchOptions): Promise<void> {
  const { baseline } = options;
  if (!existsSync(baseline)) {
    await writeFile(baseline, `${JSON.stringify(report, null, 2)}\n`);
    return console.log(`${baseline} did not exist: this run is kept there as the baseline.`);
  }
  const before = await readReport(baseline);
  if (before.suite !== report.suite)
    throw new Error(`${baseline} is of the suite ${before.suite}, and not of ${report.suite}.`);
  const method = `By the slices of their stages. ${NOT_INTERLEAVED}`;
  const sides = { a: sideOf(before, baseline), b: sideOf(report, 'this run') };
  const rows = compareRuns(before.stages, report.stages);
  await reportComparison({ name: `${report.suite}-baseline`, sides, method, rows }, options);
}

/** The name of a side, such as `A.json (98d45910, 2026-01-31T23:59:59.000Z)`. */
function sideOf({ at, url, host }: LoadReport, name: string): string {
  const instance = url ?? host.commit ?? 'no commit';
  return `${basename(name)} (${instance}, ${at})`;
}

interface Comparison {
  name: string;
  sides: Record<'a' | 'b', string>;
  method: string;
  rows: ComparedRow[];
  rounds?: Round[];
}

/** Prints and writes a comparison. The exit code is 1 if B is worse, and if nothing could be compared. */
async function reportComparison(
  { name, sides, method, rows, rounds }: Comparison,
  options: BenchOptions,
): Promise<void> {
  const printed = rows.map(({ change: _, a, b, ...row }) => ({ ...row, a: a ?? 'none', b: b ?? 'none' }));
  const conclusion = conclusionOf(rows);
  console.log(`A is ${sides.a}, B is ${sides.b}. ${method}`);
  console.table(printed);
  const at = new Date().toISOString();
  const report = {
    kind: 'comparison',
    suite: name,
    at,
    host: hostFacts(),
    command: options.command,
    sides,
    conclusion,
    method,
    rows,
    rounds,
  };
  const worse = new Set(worseThan(rows, options.failOver));
  const checks = rows.map((row): ReportCheck => {
    const what = nameOf(row);
    if (row.change === null) return { name: what, failure: null, skipped: row.conclusion };
    return { name: what, failure: worse.has(row) ? `${what} ${row.conclusion}` : null };
  });
  await writeResult(name, {
    result: report,
    html: plottedPage({ title: `${name} ${at}`, report, script: 'comparison.js' }),
    folder: options.out,
    formats: options.formats,
    flat: { suite: name, at, rows: printed, checks, sides },
  });
  for (const { failure } of checks) if (failure !== null) console.error(failure);
  for (const sentence of skippedOf(checks)) console.log(sentence);
  console.log(conclusion);
  if (worse.size > 0 || rows.every(({ change }) => change === null)) process.exitCode = 1;
}

/** @throws Error that names the file if it is missing, or is no report of a load. */
async function readReport(file: string): Promise<LoadReport> {
  const text = await readFile(file, 'utf8').catch((error: Error) => {
    throw new Error(`${file} cannot be read: ${error.message}.`, { cause: error });
  });
  const found = parseJsonOrUndefined(text) as Partial<LoadReport> | undefined;
  if (found?.kind !== 'load') throw new Error(`${file} is not the result of a suite under load.`);
  return found as LoadReport;
}

const ROOT = join(import.meta.dirname, '../..');

/**
 * The side to compare with: an instance by its URL, or the service at a git ref, started here.
 * @throws Error for text that is neither.
 */
export async function openOtherSide(against: string, options: TargetOptions): Promise<LoadTarget> {
  if (/^https?:\/\//.test(against)) return openTarget({ ...options, url: against });
  const commit = commitOf(against);
  if (commit === null)
    throw new Error(
      `--against is "${against}", but a commit, branch or tag of this repository is expected, or the http address of an instance.`,
    );
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-against-'));
  const tree = join(folder, 'tree');
  const removeTree = () => {
    git('worktree', 'remove', '--force', tree);
    rmSync(folder, { recursive: true, force: true });
  };
  git('worktree', 'add', '--detach', tree, commit);
  const forget = atExit(removeTree);
  const endTree = () => {
    forget();
    removeTree();
  };
  try {
    await installInto(tree);
    const server = await startTarget(options.settings, {
      main: join(tree, 'src/host/main.ts'),
      name: commit.startsWith(against) ? commit : `${against} (${commit})`,
      accounts: options.accounts,
    });
    return {
      ...server,
      async [Symbol.asyncDispose]() {
        using _tree = { [Symbol.dispose]: endTree };
        await server[Symbol.asyncDispose]();
      },
    };
  } catch (error) {
    endTree();
    throw error;
  }
}

/** Copies packages of the same version. The others are installed from the lock file of the ref. */
async function installInto(tree: string): Promise<void> {
  const [ours, theirs] = await Promise.all(
    [ROOT, tree].map((folder) => readFile(join(folder, 'package-lock.json'), 'utf8')),
  );
  if (ours === theirs) await cp(join(ROOT, 'node_modules'), join(tree, 'node_modules'), { recursive: true });
  else execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: tree, stdio: 'ignore' });
}

function git(...args: string[]): void {
  execFileSync('git', args, { cwd: ROOT, stdio: ['ignore', 'ignore', 'pipe'] });
}
