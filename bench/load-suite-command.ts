import { resolve } from 'node:path';
import { runLoad } from './load/run.ts';
import type { LoadSuite } from './load/suite.ts';
import { openTarget } from './load/target.ts';
import { showSecond, showStages } from './load/terminal.ts';
import { brokenThresholds } from './load/thresholds.ts';
import { loadPage } from './report/load-page.ts';
import { reportOf } from './report/load-report.ts';
import { writeResult } from './results.ts';
import type { Words } from './words.ts';

/**
 * Runs a suite under load once, and leaves its report. With --thresholds the exit code is 1 when one is broken.
 * @param file the module whose default export is the suite.
 */
export async function runLoadSuite(file: string, words: Words): Promise<void> {
  const suiteFile = resolve(file);
  const { default: suite } = (await import(suiteFile)) as { default: LoadSuite };
  console.log(`${suite.name}: ${suite.description}`);
  const target = await openTarget({ ...words, settings: suite.settings ?? {} });
  try {
    const options = { suite, suiteFile, picturesFolder: words.imagesFolder, target, onSecond: showSecond };
    const result = await runLoad(options);
    const broken = brokenThresholds(suite.thresholds ?? [], result.stages);
    showStages(result.stages);
    for (const sentence of broken) console.log(`Threshold: ${sentence}`);
    const url = words.url === '' ? null : target.url;
    const report = reportOf({ suite, result, url, brokenThresholds: broken, now: new Date() });
    await writeResult(suite.name, report, loadPage(report));
    if (words.thresholds && broken.length > 0) process.exitCode = 1;
  } finally {
    await target.stop();
  }
}
