import type { Capacity } from './concurrency/capacity.ts';
import type { Stores } from './stores/open.ts';
import type { EventLog } from './tracing/tracing.ts';

/** The parts of a process that every slice may use. Each slice names those that it needs. */
export interface ProcessParts extends Omit<Stores, 'close'> {
  capacity: Capacity;
  hostId: string;
  processId: string;
  /** The base address of links that the service hands out. */
  publicUrl: () => string;
  /** Aborts when the process stops taking calls. Waiting calls are then answered, and nothing new begins. */
  draining: AbortSignal;
  now: () => Date;
  log: EventLog;
}
