/** Reports how much of a copy is done: a line such as `objects: 1200 of 4800 (25 %)` at each tenth, and at the end. */
export class CopyProgressReporter {
  readonly #name: string;
  readonly #total: number;
  readonly #onProgress: (line: string) => void;
  #done = 0;
  #reported = 0;

  /** @param name what is counted. */
  constructor(name: string, total: number, onProgress: (line: string) => void) {
    this.#name = name;
    this.#total = total;
    this.#onProgress = onProgress;
  }

  done(count: number): void {
    this.#done += count;
    const percent = Math.min(100, Math.floor((this.#done / this.#total) * 100));
    if (percent < this.#reported + 10 && this.#done < this.#total) return;
    this.#reported = percent - (percent % 10);
    this.#onProgress(`${this.#name}: ${this.#done} of ${this.#total} (${percent} %)`);
  }
}
