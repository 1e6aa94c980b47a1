import { LRUCache } from 'lru-cache';
import { MEGABYTE } from '../../../platform/values/units.ts';
import type { JobsStore } from '../store.ts';
import type { Definition } from './definition.ts';
import { definitionIn } from './stored-definition.ts';

/** Definitions of the jobs at work; each stays the same for ever. In characters of their text. */
const MAX_CACHED_CHARACTERS = 16 * MEGABYTE;

/** Reads definitions, and keeps those of the last jobs. */
export interface Definitions {
  of(jobId: string): Promise<Definition>;
  /** Keeps one that was just stored: its items are mostly worked on here, too. */
  keep(jobId: string, text: string): Definition;
}

export function createDefinitions(jobs: JobsStore): Definitions {
  const kept = new LRUCache<string, Definition>({ maxSize: MAX_CACHED_CHARACTERS });

  function keep(jobId: string, text: string): Definition {
    const definition = definitionIn(text);
    kept.set(jobId, definition, { size: Math.max(1, text.length) });
    return definition;
  }

  return {
    async of(jobId) {
      const known = kept.get(jobId);
      if (known !== undefined) return known;
      const text = await jobs.definition(jobId);
      if (text === null) throw new Error(`The definition of ${jobId} is gone.`);
      return keep(jobId, text);
    },

    keep,
  };
}
