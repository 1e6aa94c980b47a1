import type { FastifyInstance } from 'fastify';
import type { SweepTask } from '../sweeping/sweeper.ts';

/** A slice as app.ts needs it. Its `openX` answers this, beside the functions for other slices. */
export interface Slice {
  /** Registers the routes; their paths begin below /api/v1. */
  routes(app: FastifyInstance): Promise<void>;
  /** Periodic clean-up of what time and dead processes leave behind. */
  sweeps?: readonly SweepTask[];
  /**
   * Ends what the slice runs beside its calls. It is called when the last call has ended, and before the threads end;
   * the signal `draining` came earlier, when the process stopped taking calls.
   */
  stop?(): Promise<void>;
}
