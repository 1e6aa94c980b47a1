import { readImageHeader } from '../../src/imaging/images/header/header.ts';
import { openApi } from '../api.ts';
import { readPictures } from './pictures.ts';
import { type PreparedCase, runStage, type StageProgress, type StageResult } from './stage.ts';
import type { BenchPicture, HttpCall, LoadCase, LoadSuite, Rate, Stage } from './suite.ts';

/**
 * The loading process. It is separate from the instance and from the process that draws the terminal, so that its own
 * CPU and event loop delay can be measured. It is controlled over IPC, one message at a time; `stop` ends the current
 * stage, which answers with its results so far.
 */
export type LoaderRequest =
  | { kind: 'prepare'; suiteFile: string; picturesFolder: string; url: string; keys: readonly string[] }
  | { kind: 'stage'; stage: Stage; rates: Record<string, Rate>; round: number }
  | { kind: 'stop' };

export type LoaderAnswer =
  /** A phrase about each picture that the calls send. */
  | { kind: 'prepared'; pictures: string[] }
  | { kind: 'progress'; progress: StageProgress }
  | { kind: 'done'; result: StageResult }
  | { kind: 'failed'; message: string };

let url = '';
const cases: Record<string, PreparedCase> = {};
let stopping = new AbortController();

process.on('disconnect', () => process.exit());
process.on('message', (request: LoaderRequest) => {
  handle(request).catch((error: Error) => send({ kind: 'failed', message: error.message }));
});

async function handle(request: LoaderRequest): Promise<void> {
  if (request.kind === 'prepare') {
    return send({ kind: 'prepared', pictures: await prepare(request) });
  }
  if (request.kind === 'stop') return stopping.abort();
  stopping = new AbortController();
  const { signal } = stopping;
  const { stage, rates, round } = request;
  const onProgress = (progress: StageProgress) => send({ kind: 'progress', progress });
  send({ kind: 'done', result: await runStage({ url, stage, rates, round, cases, signal, onProgress }) });
}

async function prepare(request: Extract<LoaderRequest, { kind: 'prepare' }>): Promise<string[]> {
  url = request.url;
  const { default: suite } = (await import(request.suiteFile)) as { default: LoadSuite };
  const pictures = await readPictures(request.picturesFolder);
  for (const [name, loadCase] of Object.entries(suite.cases)) {
    const next = await prepareCalls(loadCase, { ...request, pictures });
    cases[name] = { loadCase, next };
  }
  return pictures.map(pictureText);
}

/** A phrase about a picture, such as `camera.jpg 4000 × 3000, 3.1 MB`. */
function pictureText({ name, bytes }: BenchPicture): string {
  const header = readImageHeader(bytes);
  const size = header === null ? 'of unknown size' : `${header.width} × ${header.height}`;
  return `${name} ${size}, ${(bytes.length / 1e6).toFixed(2)} MB`;
}

/** Prepares a case once per key, because accounts do not see each other's assets. The keys are used in turn. */
async function prepareCalls(
  loadCase: LoadCase,
  { url, keys, pictures }: { url: string; keys: readonly string[]; pictures: readonly BenchPicture[] },
): Promise<PreparedCase['next']> {
  const accounts: Array<{ key: string; call: (turn: number) => HttpCall }> = [];
  for (const key of keys)
    accounts.push({ key, call: await loadCase.prepare({ api: openApi({ url, key }), pictures }) });
  return (turn) => {
    const { key, call } = accounts[turn % accounts.length] as (typeof accounts)[number];
    return { ...call(turn), key };
  };
}

function send(message: LoaderAnswer): void {
  process.send?.(message);
}
