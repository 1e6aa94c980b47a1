import { readPictures } from './pictures.ts';
import { type PreparedCase, runStage, type Second, type StageResult } from './stage.ts';
import type { LoadSuite, Stage } from './suite.ts';
import { apiOf } from './target.ts';

/**
 * The loading process. It is separate from the instance and from the process that draws the terminal, so that its own
 * CPU and event loop delay can be measured. It is controlled over IPC, one message at a time; `stop` ends the current
 * stage, which answers with its results so far.
 */
export type LoaderQuestion =
  | { kind: 'prepare'; suiteFile: string; picturesFolder: string; url: string; key: string }
  | { kind: 'stage'; stage: Stage; rates: Record<string, number> }
  | { kind: 'stop' };

export type LoaderAnswer =
  | { kind: 'prepared' }
  | { kind: 'second'; second: Second }
  | { kind: 'done'; result: StageResult }
  | { kind: 'failed'; message: string };

let target = { url: '', key: '' };
const cases: Record<string, PreparedCase> = {};
let stopping = new AbortController();

// A terminal sends Ctrl-C to every process of the run. The parent process decides how the stage ends, so this one
// ignores it.
process.on('SIGINT', () => undefined);
process.on('disconnect', () => process.exit());
process.on('message', (question: LoaderQuestion) => {
  answer(question).catch((error: Error) => send({ kind: 'failed', message: error.message }));
});

async function answer(question: LoaderQuestion): Promise<void> {
  if (question.kind === 'prepare') {
    await prepare(question);
    return send({ kind: 'prepared' });
  }
  if (question.kind === 'stop') return stopping.abort();
  stopping = new AbortController();
  const { signal } = stopping;
  const { stage, rates } = question;
  const onSecond = (second: Second) => send({ kind: 'second', second });
  send({ kind: 'done', result: await runStage({ ...target, stage, rates, cases, signal, onSecond }) });
}

async function prepare(question: Extract<LoaderQuestion, { kind: 'prepare' }>): Promise<void> {
  target = { url: question.url, key: question.key };
  const { default: suite } = (await import(question.suiteFile)) as { default: LoadSuite };
  const context = { api: apiOf(target), pictures: await readPictures(question.picturesFolder) };
  for (const [name, loadCase] of Object.entries(suite.cases)) {
    cases[name] = { loadCase, next: await loadCase.prepare(context) };
  }
}

function send(message: LoaderAnswer): void {
  process.send?.(message);
}
