import type { Worker } from 'node:cluster';
import type { LoadSnapshot } from '../../platform/metrics/load.ts';

/** Messages between the primary and an API process. The embedded stores use messages of their own. */
export type ProcessMessage =
  /** The process now listens. `cpuMs` is the CPU time of its start, without the CPU time that it used as a spare. */
  | { type: 'listening'; port: number; cpuMs: number }
  /** `load`: the mean number of concurrent calls since the previous message. */
  | { type: 'alive'; load: number }
  /** The counters of the process, sent every ten seconds. */
  | { type: 'load'; snapshot: LoadSnapshot }
  /** Makes the spare process, which has only loaded its modules, open its stores and serve. */
  | { type: 'serve' }
  /** The service has started: the first key can be read. */
  | { type: 'started' }
  /** Makes the process close this number of connections, each with its next response. */
  | { type: 'release'; connections: number }
  | { type: 'drain' };

/** Sends a message to an API process, unless its channel is closed. */
export function sendToProcess(worker: Worker, message: ProcessMessage): void {
  if (worker.isConnected()) worker.send(message);
}
