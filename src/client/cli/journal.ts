import { existsSync } from 'node:fs';
import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** An output that was made from one version of a file. */
interface JournalEntry {
  input: string;
  version: string;
  /** The work that was done on the file, as JSON. */
  work: string;
  /** The path of the output file, or of several. */
  output: string | string[];
}

const JOURNAL_FILE = '.darkroom-journal.ndjson';

/**
 * The journal of a command, in its output folder, with one line per output. With it, a command that is run again
 * continues where it ended: it skips outputs that exist, unless their input or the work has changed.
 */
export class OutputJournal {
  readonly #folder: string;
  readonly #work: string;
  readonly #entries: ReadonlyMap<string, JournalEntry>;

  private constructor(folder: string, work: string, entries: readonly JournalEntry[]) {
    this.#folder = folder;
    this.#work = work;
    this.#entries = new Map(entries.map((entry) => [entry.input, entry]));
  }

  /**
   * Opens the journal of a folder.
   * @param work the work that the command does on each file.
   */
  static async open(folder: string, work: unknown): Promise<OutputJournal> {
    const path = join(folder, JOURNAL_FILE);
    const text = await readFile(path, 'utf8').catch(() => '');
    // If the last line broke off, it is ended here, so that the next entry gets a line of its own.
    if (text !== '' && !text.endsWith('\n')) await appendFile(path, '\n');
    return new OutputJournal(folder, JSON.stringify(work), text.split('\n').flatMap(parseJournalLine));
  }

  /** Whether the output for this version of a file exists already. */
  has({ name, version }: { name: string; version?: string }): boolean {
    const entry = this.#entries.get(name);
    const isUnchanged = entry !== undefined && entry.version === version && entry.work === this.#work;
    return isUnchanged && [entry.output].flat().every((name) => existsSync(join(this.#folder, name)));
  }

  async add({ name, version }: { name: string; version?: string }, output: string[]): Promise<void> {
    if (version === undefined) return;
    const entry: JournalEntry = { input: name, version, work: this.#work, output };
    await appendFile(join(this.#folder, JOURNAL_FILE), `${JSON.stringify(entry)}\n`);
  }
}

/** Parses a line of the journal. The result is empty for a line that broke off or that another program wrote. */
function parseJournalLine(line: string): JournalEntry[] {
  try {
    const entry = JSON.parse(line);
    const isEntry = [entry?.output].flat().every((name) => typeof name === 'string');
    return typeof entry?.input === 'string' && isEntry ? [entry] : [];
  } catch {
    return [];
  }
}
