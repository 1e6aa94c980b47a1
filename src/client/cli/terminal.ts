import type { Warning } from '../answers.ts';
import { DarkroomError } from '../errors.ts';
import type { ImageEstimate } from '../schema.ts';
import { UsageError } from './exit-codes.ts';

/** A stream to which a command writes: stdout or stderr. */
interface OutputStream {
  write(data: string | Uint8Array, done?: (error?: Error | null) => void): unknown;
  isTTY?: boolean;
  columns?: number;
}

const PROGRESS_BAR_WIDTH = 24;
/** The assumed width if a terminal does not report its own, in characters. */
const DEFAULT_COLUMNS = 80;

/**
 * The output of a command. Results go to stdout: as text if stdout is a terminal, and otherwise as NDJSON, with one
 * object per line. Everything else goes to stderr. Progress is shown only if stderr is a terminal.
 */
export class Terminal {
  readonly #stdout: OutputStream;
  readonly #stderr: OutputStream;
  #progress = '';

  constructor(stdout: OutputStream, stderr: OutputStream) {
    this.#stdout = stdout;
    this.#stderr = stderr;
  }

  /** Whether results are read by a person, because stdout is a terminal. */
  get isForPeople(): boolean {
    return this.#stdout.isTTY === true;
  }

  /**
   * Writes one result.
   * @param text the result in a form for people.
   */
  writeResult(value: unknown, text: string): void {
    this.#writeWithoutProgress(() => {
      this.#stdout.write(`${this.isForPeople ? text : JSON.stringify(value)}\n`);
    });
  }

  /** Writes bytes to stdout, without anything added. */
  async writeBytes(data: Uint8Array): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#stdout.write(data, (error) => (error ? reject(error) : resolve()));
    });
  }

  /**
   * Refuses to write a picture to a terminal, which would show its bytes as text.
   * @param output the file, or `-` for stdout.
   * @throws UsageError
   */
  refusePictureOnTerminal(output: string): void {
    if (output === '-' && this.isForPeople)
      throw new UsageError('A terminal shows no picture: name a file with -o, or send stdout to a program.');
  }

  writeWarnings(warnings: readonly Warning[]): void {
    for (const { code, name } of warnings) this.writeNote(name === undefined ? code : `${code}: ${name}`);
  }

  /** Writes a text for people to stderr. */
  writeNote(text: string): void {
    this.#writeWithoutProgress(() => this.#stderr.write(`${text}\n`));
  }

  /**
   * Writes a failure to stderr, and how to correct it.
   * @param subject the input or the output that failed.
   */
  writeFailure(error: unknown, subject?: string): void {
    this.writeNote([subject, ...failureTexts(error)].filter((text) => text !== undefined).join(': '));
  }

  /** Shows the progress. It replaces the progress that was shown before. */
  showProgress(done: number, total: number, text = ''): void {
    if (this.#stderr.isTTY !== true) return;
    const filled = total === 0 ? PROGRESS_BAR_WIDTH : Math.floor((done / total) * PROGRESS_BAR_WIDTH);
    const bar = '#'.repeat(filled).padEnd(PROGRESS_BAR_WIDTH, '.');
    this.#progress = `[${bar}] ${done}/${total} ${text}`.slice(
      0,
      (this.#stderr.columns || DEFAULT_COLUMNS) - 1,
    );
    this.#stderr.write(`\r\x1b[K${this.#progress}`);
  }

  endProgress(): void {
    if (this.#progress !== '') this.#stderr.write('\r\x1b[K');
    this.#progress = '';
  }

  #writeWithoutProgress(write: () => void): void {
    const shown = this.#progress;
    this.endProgress();
    write();
    if (shown === '') return;
    this.#progress = shown;
    this.#stderr.write(shown);
  }
}

/** What a call would return and what it would cost, as text for people. */
export function estimateText({ format, width, height, price = 0 }: Partial<ImageEstimate>): string {
  return `${format ?? 'a picture'} ${width ?? '?'}×${height ?? '?'}, ${price} credits`;
}

/** The object that is written as the result of a failed call. */
export function failureObject(error: unknown): Record<string, unknown> {
  if (!(error instanceof DarkroomError)) return { message: errorMessageOf(error) };
  const { code, message, param, retryable, fix, mistakes, suggest, requestId, docUrl } = error;
  return { code, message, param, retryable, fix, mistakes, suggest, requestId, docUrl };
}

function failureTexts(error: unknown): string[] {
  if (!(error instanceof DarkroomError)) return [errorMessageOf(error)];
  const { message, fix, mistakes } = error;
  if (mistakes.length > 0) return [`${message} mistakes`, JSON.stringify(mistakes)];
  return fix.length === 0 ? [message] : [`${message} fix`, JSON.stringify(fix)];
}

function errorMessageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
