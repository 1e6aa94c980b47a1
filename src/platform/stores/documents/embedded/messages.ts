import type { CrossingError } from '../../embedded/crossing.ts';

/** One call of a collection's method; `declare` takes the CollectionSpec, `ping` and `close` nothing. */
export interface Question {
  id: number;
  collection: string;
  method: string;
  args: unknown[];
}

export interface Answer {
  id: number;
  value?: unknown;
  error?: CrossingError;
}
