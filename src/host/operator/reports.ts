import { createReadStream } from 'node:fs';
import { lstat, open, readdir } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { ApiError } from '../../platform/http/errors/errors.ts';
import type { BenchRun, BenchRunsQuery } from './schema.ts';

/** For the list, only this many bytes of each report are read. They contain all fields that precede the figures. */
const REPORT_HEAD_BYTES = 32_768;
const MAX_REPORT_FILES = 2_000;
const MAX_LISTED_RUNS = 500;
/** The most bytes of a report. The report of a load test of several hours has about ten megabytes. */
const MAX_REPORT_BYTES = 128 * 1024 * 1024;
/** Matches a field at the first level of a report, as JSON.stringify writes it. */
const TOP_LEVEL_FIELD_PATTERN = /^ {2}"(\w+)": ("(?:[^"\\]|\\.)*"|[\d.-]+|null),?$/gm;
const COMMIT_FIELD_PATTERN = /^ {4}"commit": ("(?:[^"\\]|\\.)*"|null),?$/m;
const NAME_TIMESTAMP_PATTERN = /-(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)/;

/**
 * The bench and tune reports in a folder. Only files of the folder itself are read: no path and no link leads out of
 * it.
 */
export class BenchReports {
  readonly folder: string;
  /** The runs that were read before. The key consists of the name, the size and the time of the file. */
  readonly #runsByFile = new Map<string, BenchRun>();

  constructor(folder: string) {
    this.folder = resolve(folder);
  }

  /** The reports that match, the newest first; none if the folder does not exist. */
  async list({ kind, suite, search }: BenchRunsQuery): Promise<{ runs: BenchRun[]; total: number }> {
    const words = search?.toLowerCase() ?? '';
    const matching = (await this.#readNewestRuns()).filter(
      (run) =>
        (kind === undefined || run.kind === kind) &&
        (suite === undefined || run.suite === suite) &&
        [run.name, run.command, run.commit].some((text) => text?.toLowerCase().includes(words)),
    );
    const sorted = matching.sort((one, other) => (one.at < other.at ? 1 : -1));
    return { runs: sorted.slice(0, MAX_LISTED_RUNS), total: sorted.length };
  }

  /**
   * The bytes of one report.
   * @throws ApiError not_found for a name that is not a file of the folder.
   */
  async read(name: string): Promise<{ bytes: number; stream: Readable }> {
    const file = await this.#findFile(name);
    if (file === null || file.size === 0 || file.size > MAX_REPORT_BYTES)
      throw new ApiError('not_found', 'There is no such report: the list of runs has the names of all.', {
        param: 'name',
      });
    // A report that is being written may grow meanwhile, so exactly the announced bytes are sent.
    return { bytes: file.size, stream: createReadStream(join(this.folder, name), { end: file.size - 1 }) };
  }

  async #readNewestRuns(): Promise<BenchRun[]> {
    const names = (await readdir(this.folder).catch(() => [])).filter((name) => name.endsWith('.json'));
    const newest = names
      .sort((one, other) => (timestampInName(one) < timestampInName(other) ? 1 : -1))
      .slice(0, MAX_REPORT_FILES);
    const runs: BenchRun[] = [];
    for (const name of newest) {
      const run = await this.#readRun(name);
      if (run !== null) runs.push(run);
    }
    return runs;
  }

  async #readRun(name: string): Promise<BenchRun | null> {
    const file = await this.#findFile(name);
    if (file === null) return null;
    const key = `${name}/${file.size}/${file.mtimeMs}`;
    const known = this.#runsByFile.get(key);
    if (known !== undefined) return known;
    const run = await readHead(join(this.folder, name))
      .then((head) => toBenchRun(name, head, file))
      .catch(() => null);
    if (run === null) return null;
    if (this.#runsByFile.size >= MAX_REPORT_FILES) this.#runsByFile.clear();
    this.#runsByFile.set(key, run);
    return run;
  }

  /** The facts of a regular file of the folder; null if the name is not that of such a file. */
  async #findFile(name: string): Promise<{ size: number; mtimeMs: number; mtime: Date } | null> {
    if (basename(name) !== name || !name.endsWith('.json') || name.includes('\0')) return null;
    const found = await lstat(join(this.folder, name)).catch(() => null);
    return found?.isFile() ? found : null;
  }
}

function timestampInName(name: string): string {
  return NAME_TIMESTAMP_PATTERN.exec(name)?.slice(1).join('') ?? '';
}

async function readHead(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(REPORT_HEAD_BYTES), 0, REPORT_HEAD_BYTES, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Reads a report from the first fields of its file; null for a file that is not a report. */
function toBenchRun(
  name: string,
  head: string,
  { size, mtime }: { size: number; mtime: Date },
): BenchRun | null {
  const fields = Object.fromEntries(
    [...head.matchAll(TOP_LEVEL_FIELD_PATTERN)].map(([, field = '', value = 'null']) => [
      field,
      JSON.parse(value) as unknown,
    ]),
  );
  const text = (value: unknown) => (typeof value === 'string' ? value : null);
  const [, commit = 'null'] = COMMIT_FIELD_PATTERN.exec(head) ?? [];
  const suite = text(fields.suite) ?? text(fields.kind);
  if (suite === null) return null;
  const kind = text(fields.kind) ?? (suite === 'tune' ? 'tune' : 'table');
  const at = text(fields.at);
  return {
    name,
    kind,
    suite,
    at: at !== null && !Number.isNaN(Date.parse(at)) ? at : mtime.toISOString(),
    bytes: size,
    command: text(fields.command) ?? commandOf(suite),
    commit: text(JSON.parse(commit)),
    headline:
      text(fields.conclusion) ?? text(fields.reason) ?? text(fields.description) ?? text(fields.objective),
  };
}

/** The command that makes the report of a suite, for a report that names no command. */
function commandOf(suite: string): string {
  return suite === 'tune' ? 'npm run tune' : `npm run bench -- ${suite}`;
}
