import { resolve } from 'node:path';
import { compareWithBaseline } from './compare/commands.ts';
import { importSuite } from './load/checked-suite.ts';
import { inspectInstance, remarksOn } from './load/instance.ts';
import { overridden } from './load/overrides.ts';
import { runLoad } from './load/run.ts';
import { environmentOf, openTarget } from './load/target.ts';
import { rowsOf, showProgress, showStages } from './load/terminal.ts';
import { checkedMemory, checkedThresholds } from './load/thresholds.ts';
import type { BenchOptions } from './options.ts';
import { memoryTrend, reportOf } from './report/load-report.ts';
import { plottedPage } from './report/plotted-page.ts';
import { writeResult } from './results.ts';
import { type Stopping, unlessStopped } from './stopping.ts';

/**
 * Runs a suite under load once, and writes its report. With --thresholds the exit code is 1 when one is broken. A
 * stopped run reports the data measured so far.
 * @param file the module whose default export is the suite.
 */
export async function runLoadSuite(file: string, options: BenchOptions, { signal }: Stopping): Promise<void> {
  const suiteFile = resolve(file);
  const suite = overridden(await importSuite(suiteFile), options.overrides);
  console.log(`${suite.name}: ${suite.description}`);
  const target = await unlessStopped(openTarget({ ...options, ...environmentOf(suite) }), signal);
  try {
    const instance = await unlessStopped(inspectInstance(target.url, target.keys), signal);
    for (const sentence of remarksOn(instance, suite)) console.log(sentence);
    const { imagesFolder: picturesFolder } = options;
    const run = { suite, suiteFile, picturesFolder, target, signal, onProgress: showProgress };
    const result = await runLoad(run);
    const measured = result.stages.map(({ name }) => name);
    const thresholds = (suite.thresholds ?? []).filter(
      ({ stage }) => !result.isStopped || measured.includes(stage),
    );
    const memory = memoryTrend(result.samples);
    const checks = [...checkedThresholds(thresholds, result.stages), ...checkedMemory(suite, memory)];
    const broken = checks.flatMap(({ failure }) => failure ?? []);
    showStages(result.stages);
    if (result.isStopped) console.log('Stopped by hand: the figures are of the time until then.');
    for (const sentence of broken) console.log(`Threshold: ${sentence}`);
    const url = options.url === '' ? null : target.url;
    const now = new Date();
    const report = reportOf({
      suite,
      command: options.command,
      result,
      memory,
      url,
      instance,
      brokenThresholds: broken,
      now,
    });
    await writeResult(suite.name, {
      result: report,
      html: plottedPage({ title: `${suite.name} ${report.at}`, report, script: 'load.js' }),
      folder: options.out,
      formats: options.formats,
      flat: { suite: suite.name, at: report.at, rows: rowsOf(result.stages), checks },
    });
    if (options.baseline !== '' && !result.isStopped) await compareWithBaseline(report, options);
    if (options.thresholds && broken.length > 0) process.exitCode = 1;
  } finally {
    await target.stop();
  }
}
