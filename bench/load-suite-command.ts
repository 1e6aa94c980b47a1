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

/** Exit code of a shell for a program that Ctrl-C has ended. */
const STOPPED = 130;

/**
 * Runs a suite under load once, and writes its report. With --thresholds the exit code is 1 when one is broken. Ctrl-C
 * stops the run, writes the report of the data measured so far, and exits with 130; a second Ctrl-C writes nothing.
 * @param file the module whose default export is the suite.
 */
export async function runLoadSuite(file: string, words: Words): Promise<void> {
  const suiteFile = resolve(file);
  const { default: suite } = (await import(suiteFile)) as { default: LoadSuite };
  console.log(`${suite.name}: ${suite.description}`);
  const target = await openTarget({ ...words, settings: suite.settings ?? {} });
  const { signal, release } = stoppedByHand();
  try {
    const result = await runLoad({
      suite,
      suiteFile,
      picturesFolder: words.imagesFolder,
      target,
      signal,
      onSecond: showSecond,
    });
    const measured = result.stages.map(({ name }) => name);
    const broken = brokenThresholds(
      (suite.thresholds ?? []).filter(({ stage }) => !result.isStopped || measured.includes(stage)),
      result.stages,
    );
    showStages(result.stages);
    if (result.isStopped) console.log('Stopped by hand: the figures are of the time until then.');
    for (const sentence of broken) console.log(`Threshold: ${sentence}`);
    const url = words.url === '' ? null : target.url;
    const report = reportOf({ suite, result, url, brokenThresholds: broken, now: new Date() });
    await writeResult(suite.name, report, loadPage(report));
    if (words.thresholds && broken.length > 0) process.exitCode = 1;
    if (result.isStopped) process.exitCode = STOPPED;
  } finally {
    release();
    await target.stop();
  }
}

/** A signal that the first Ctrl-C aborts. The second Ctrl-C gets Node's default handling, which ends the process. */
function stoppedByHand(): { signal: AbortSignal; release: () => void } {
  const controller = new AbortController();
  const stop = () => controller.abort();
  process.once('SIGINT', stop);
  return { signal: controller.signal, release: () => process.off('SIGINT', stop) };
}
