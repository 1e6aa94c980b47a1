import { readFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import type { LoadSuite } from '../load/suite.ts';
import { openTarget } from '../load/target.ts';
import { hostFacts, type LoadReport } from '../report/load-report.ts';
import { page } from '../report/table-page.ts';
import { writeResult } from '../results.ts';
import type { Words } from '../words.ts';
import { openOtherSide } from './other-side.ts';
import { runRounds } from './rounds.ts';
import { type ComparedRow, compareRounds, compareRuns, worseThan } from './rows.ts';

/** `compare A.json B.json`: compares two reports of one suite. */
export async function runCompare({ names, failOver }: Words): Promise<void> {
  const [, fileA, fileB] = names;
  if (fileA === undefined || fileB === undefined)
    throw new Error('compare needs two results: npm run bench -- compare A.json B.json');
  const [a, b] = [await readReport(fileA), await readReport(fileB)];
  if (a.suite !== b.suite) throw new Error(`${fileA} is of the suite ${a.suite}, ${fileB} of ${b.suite}.`);
  const method = `${basename(fileB)} (B) beside ${basename(fileA)} (A), by the slices of their stages. The runs were not interleaved: a mood of the machine can look like a difference.`;
  await tell(`compare-${a.suite}`, method, compareRuns(a.stages, b.stages), failOver);
}

/** `<suite> --against REF`: compares interleaved rounds of this tree (B) with another side (A). */
export async function runAgainst(file: string, words: Words): Promise<void> {
  const suiteFile = resolve(file);
  const { default: suite } = (await import(suiteFile)) as { default: LoadSuite };
  const { against, rounds, imagesFolder: picturesFolder } = words;
  const options = { ...words, settings: suite.settings ?? {} };
  const a = await openOtherSide(against, options);
  try {
    const b = await openTarget(options);
    try {
      const onRound = (round: number) => console.log(`${suite.name}: round ${round} of ${rounds}`);
      const done = await runRounds({ suite, suiteFile, picturesFolder, a, b, rounds, onRound });
      const method = `B is this tree, A is ${against}: ${rounds} interleaved rounds of each stage, ratios pair by pair, intervals of 95 % by Student's t over their logarithms.`;
      await tell(`${suite.name}-against`, method, compareRounds(done), words.failOver);
    } finally {
      await b.stop();
    }
  } finally {
    await a.stop();
  }
}

async function tell(
  name: string,
  method: string,
  rows: ComparedRow[],
  failOver: number | null,
): Promise<void> {
  const shown = rows.map(({ difference: _, ...row }) => row);
  console.log(method);
  console.table(shown);
  const { cores, node } = hostFacts();
  const result = { suite: name, at: new Date().toISOString(), cores, node, method, rows: shown };
  await writeResult(name, { ...result, rows }, page(result));
  const worse = failOver === null ? [] : worseThan(rows, failOver);
  for (const row of worse) console.error(`${row.stage}, ${row.case}: ${row.measure} ${row.verdict}`);
  if (worse.length > 0) process.exitCode = 1;
}

async function readReport(file: string): Promise<LoadReport> {
  const report = JSON.parse(await readFile(file, 'utf8')) as Partial<LoadReport>;
  if (report.kind !== 'load') throw new Error(`${file} is not the result of a suite under load.`);
  return report as LoadReport;
}
