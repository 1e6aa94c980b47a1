import { LRUCache } from 'lru-cache';
import { MEGABYTE } from '../../../platform/values/units.ts';
import type { JobsStore } from '../store.ts';
import type { Definition } from './definition.ts';
import { definitionIn } from './stored-definition.ts';

/** Definitions of the jobs at work; each stays the same for ever. In characters of their text. */
const MAX_CACHED_CHARACTERS = 16 * MEGABYTE;

/** Reads definitions, and keeps those of the last jobs. */
export class Definitions {
  readonly #jobs: JobsStore;
  readonly #kept = new LRUCache<string, Definition>({ maxSize: MAX_CACHED_CHARACTERS });

  constructor(jobs: JobsStore) {
    this.#jobs = jobs;
  }

  async of(jobId: string): Promise<Definition> {
    const known = this.#kept.get(jobId);
    if (known !== undefined) return known;
    const text = await this.#jobs.definition(jobId);
    if (text === null) throw new Error(`The definition of ${jobId} is gone.`);
    return this.keep(jobId, text);
  }

  /** Keeps one that was just stored: its items are mostly worked on here, too. */
  keep(jobId: string, text: string): Definition {
    const definition = definitionIn(text);
    this.#kept.set(jobId, definition, { size: Math.max(1, text.length) });
    return definition;
  }
}
