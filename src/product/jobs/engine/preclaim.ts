import type { Claimed, JobDocument } from '../job.ts';

/** The steps that end a preclaim, of which one is taken. */
interface Ends {
  begin(job: JobDocument): void;
  giveBack(): Promise<void>;
  drop(): void;
}

/** The claim of a new job's only item, which is stored with the item: the job then needs no other claim. */
export class Preclaim {
  /** The item as it is to be stored. */
  readonly item: Claimed;
  readonly #ends: Ends;
  #isOver = false;

  constructor(item: Claimed, ends: Ends) {
    this.item = item;
    this.#ends = ends;
  }

  /** Works on the item: its job runs. */
  begin(job: JobDocument): void {
    this.#isOver = true;
    this.#ends.begin(job);
  }

  /** Makes the item ready in the store, for the process that runs the job later. */
  async giveBack(): Promise<void> {
    await this.#ends.giveBack().finally(() => this.drop());
  }

  /** Forgets the item: there is no job. Does nothing after another end. */
  drop(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#ends.drop();
  }
}
