import { appendFileSync, existsSync, readFileSync } from 'node:fs';

/** A round that can be made again: the seed decides all of it but the order in which processes are scheduled. */
export interface RoundName {
  /** The kind of round, such as `steps` or `kills`. */
  kind: string;
  /** `embedded`, or `cluster` for those on Redis or MongoDB. */
  stores: string;
  /** Where the process dies, for rounds that name it. */
  point: string;
  seed: number;
}

interface DoneRound extends RoundName {
  /** Broken promises, as sentences. */
  broken: string[];
  /** How long it took. */
  seconds: number;
}

const keyOf = ({ kind, stores, point, seed }: RoundName) => `${kind}/${stores}/${point}/${seed}`;
const groupOf = ({ kind, stores, point }: RoundName) => `${kind} (${stores}) ${point}`;

/** The results of rounds. They are printed, and kept in a file when one is named, so that a soak can continue. */
export class Report {
  readonly #file: string | undefined;
  readonly #done = new Map<string, DoneRound>();

  /** @param file JSON lines, one per round; made when it is not there. */
  constructor(file?: string) {
    this.#file = file;
    if (file === undefined || !existsSync(file)) return;
    const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
    for (const round of lines.map((line) => JSON.parse(line) as DoneRound))
      this.#done.set(keyOf(round), round);
  }

  has(round: RoundName): boolean {
    return this.#done.has(keyOf(round));
  }

  add(name: RoundName, { broken, seconds }: Pick<DoneRound, 'broken' | 'seconds'>): void {
    const round = { ...name, broken, seconds };
    this.#done.set(keyOf(name), round);
    if (this.#file !== undefined) appendFileSync(this.#file, `${JSON.stringify(round)}\n`);
    if (broken.length > 0) console.log(`${groupOf(name)}, seed ${name.seed}:\n  ${broken.join('\n  ')}`);
  }

  get broken(): number {
    return [...this.#done.values()].filter(({ broken }) => broken.length > 0).length;
  }

  /** One line per kind and point with its number of rounds, and one for all. */
  print(): void {
    const rounds = [...this.#done.values()];
    for (const [group, own] of Map.groupBy(rounds, groupOf)) {
      const broken = own.filter(({ broken }) => broken.length > 0).length;
      console.log(`${group}: ${own.length} rounds${broken > 0 ? `, ${broken} BROKEN` : ''}`);
    }
    console.log(`${rounds.length} rounds, ${this.broken} with a broken promise`);
  }
}

export interface SoakOptions {
  report: Report;
  /** Number of rounds at the same time, because most of a round is waiting. */
  atOnce: number;
  /** No round begins past this instant of performance.now(). */
  endsMs: number;
}

/** Makes rounds that were not made yet. One that throws is a broken one. */
export async function soak<T extends RoundName>(
  rounds: Iterable<T>,
  run: (round: T) => Promise<string[]>,
  { report, atOnce, endsMs }: SoakOptions,
): Promise<void> {
  const remaining = rounds[Symbol.iterator]();
  async function work(): Promise<void> {
    for (let next = remaining.next(); !next.done && performance.now() < endsMs; next = remaining.next()) {
      const name = next.value;
      if (report.has(name)) continue;
      const failed = (error: Error) => [`the round itself failed: ${error.stack}`];
      const startedMs = performance.now();
      const broken = await run(name).catch(failed);
      report.add(name, { broken, seconds: Math.round((performance.now() - startedMs) / 100) / 10 });
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work));
}
