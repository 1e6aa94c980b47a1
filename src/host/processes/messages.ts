import type { Worker } from 'node:cluster';
import type { LoadSnapshot } from '../../platform/metrics/load.ts';

/** Messages between the primary and an API process, besides those of the channel. */
export type ProcessMessage =
  /** `cpuMs`: the CPU time from the moment when the process was needed. */
  | { type: 'listening'; port: number; cpuMs: number }
  /** `load`: the mean number of concurrent calls since the previous message. */
  | { type: 'alive'; load: number }
  /** The counters of the process, each ten seconds. */
  | { type: 'load'; snapshot: LoadSnapshot }
  /** The spare process is needed: it has loaded its modules, and opens now. */
  | { type: 'serve' }
  /** The service has started: the first key can be read. */
  | { type: 'started' }
  /** The given number of next answers close their connections. */
  | { type: 'release'; connections: number }
  | { type: 'drain' };

/** Sends a message to an API process, unless its channel is closed. */
export function send(worker: Worker, message: ProcessMessage): void {
  if (worker.isConnected()) worker.send(message);
}
