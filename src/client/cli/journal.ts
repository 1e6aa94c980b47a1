import { existsSync } from 'node:fs';
import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** An output that was made of a version of a file. */
interface JournalEntry {
  input: string;
  version: string;
  /** The work that was done, as JSON. */
  work: string;
  /** The output file, or several output files. */
  output: string | string[];
}

const JOURNAL_FILE = '.darkroom-journal.ndjson';

/**
 * The journal of a command in its output folder: one line per output. A command that is run again continues where it
 * ended. It skips outputs that exist, unless their input or the work has changed.
 */
export class OutputJournal {
  readonly #folder: string;
  readonly #work: string;
  readonly #made: ReadonlyMap<string, JournalEntry>;

  private constructor(folder: string, work: string, entries: readonly JournalEntry[]) {
    this.#folder = folder;
    this.#work = work;
    this.#made = new Map(entries.map((entry) => [entry.input, entry]));
  }

  /** @param work the work that the command does on each file. */
  static async open(folder: string, work: unknown): Promise<OutputJournal> {
    const path = join(folder, JOURNAL_FILE);
    const text = await readFile(path, 'utf8').catch(() => '');
    // A line that broke off is completed, so that the next entry is not appended to it.
    if (text !== '' && !text.endsWith('\n')) await appendFile(path, '\n');
    return new OutputJournal(folder, JSON.stringify(work), text.split('\n').flatMap(parseJournalLine));
  }

  /** Whether the output for this version of a file exists. */
  has({ name, version }: { name: string; version?: string }): boolean {
    const entry = this.#made.get(name);
    const isSame = entry !== undefined && entry.version === version && entry.work === this.#work;
    return isSame && [entry.output].flat().every((name) => existsSync(join(this.#folder, name)));
  }

  async add({ name, version }: { name: string; version?: string }, output: string[]): Promise<void> {
    if (version === undefined) return;
    const entry: JournalEntry = { input: name, version, work: this.#work, output };
    await appendFile(join(this.#folder, JOURNAL_FILE), `${JSON.stringify(entry)}\n`);
  }
}

/** Parses a line of the journal. A line that broke off, or that another program wrote, is not an entry. */
function parseJournalLine(line: string): JournalEntry[] {
  try {
    const entry = JSON.parse(line);
    const isEntry = [entry?.output].flat().every((name) => typeof name === 'string');
    return typeof entry?.input === 'string' && isEntry ? [entry] : [];
  } catch {
    return [];
  }
}
