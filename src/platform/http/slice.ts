import type { FastifyInstance } from 'fastify';
import type { SweepTask } from '../sweeping/sweeper.ts';

/** What app.ts needs of a slice. Its `openX` answers this, beside what other slices ask of it. */
export interface Slice {
  /** Registers the routes; their paths begin below /api/v1. */
  routes(app: FastifyInstance): Promise<void>;
  /** What time and dead processes leave behind, and this slice clears away. */
  sweeps?: readonly SweepTask[];
  /**
   * Ends what the slice runs beside its calls. It is called when the last call has ended, and before the threads end;
   * the signal `draining` came earlier, when the process stopped taking calls.
   */
  stop?(): Promise<void>;
}
