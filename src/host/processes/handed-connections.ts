import type { Worker } from 'node:cluster';
import { setTimeout as pause } from 'node:timers/promises';

/** A connection in the form of the cluster module. */
interface Connection {
  close(): void;
}

/** The messages that send a connection to a process and confirm that it accepted it. */
interface ClusterMessage {
  act?: string;
  seq?: number;
  ack?: number;
}

/** The number of polls in which the buffered messages of a dead process are read. */
const POLLS = 200;
const POLL_MS = 5;

/** The release of Node whose cluster messages are known here; see cannotRescue. */
const KNOWN_NODE = 24;

/**
 * A warning for the operator when this release of Node may use other messages between its processes; null for the known
 * release. With other messages, a connection that is being sent to a process is lost if the process is killed at that
 * moment.
 */
export function cannotRescue(version: string = process.versions.node): string | null {
  if (Number.parseInt(version, 10) === KNOWN_NODE) return null;
  return `Node ${version} is not the release ${KNOWN_NODE} that this service was tested with: a connection handed to a process that dies at that moment may hang.`;
}

/**
 * Rescues a connection that was sent to a process which dies before it accepts it.
 *
 * Node's round-robin scheduling sends a connection in a message, and waits until the process confirms it. A process
 * that is killed in between never confirms: the connection stays open, and no process serves it. The dead process may
 * even stay on the scheduler's list, because its channel still waits for the handle and never reports that it is
 * closed. We emit both events for it: `disconnect`, and "connection not accepted", upon which the scheduler selects
 * another process. Nothing has been read from such a connection, because a process confirms it before it reads. If no
 * other process listens, the connection is closed and its client can call again.
 *
 * Without hand-over (`SCHED_NONE`) none of this is needed, but the balance is lost. Measured with two kept connections
 * a process, opened at once, 20 times: of 8 processes the busiest had half of the connections in the median and 94 % at
 * worst, against 19 % and 25 % by round robin; of 4 processes half and 88 %, against 38 %; of 2 all at worst.
 *
 * @see https://github.com/nodejs/node/blob/v24.x/lib/internal/cluster/round_robin_handle.js
 */
export function rescueConnections(worker: Worker, anotherListens: () => boolean): void {
  const channel = worker.process;
  const handed = new Map<number, Connection>();
  const send = channel.send.bind(channel) as (...parts: unknown[]) => boolean;
  const sendAndRemember = (message: ClusterMessage, connection?: Connection, ...rest: unknown[]) => {
    if (message.act === 'newconn' && message.seq !== undefined && connection !== undefined) {
      handed.set(message.seq, connection);
    }
    return send(message, connection, ...rest);
  };
  channel.send = sendAndRemember as typeof channel.send;
  channel.on('internalMessage', ({ ack }: ClusterMessage) => ack !== undefined && handed.delete(ack));
  let isDisconnected = false;
  channel.once('disconnect', () => {
    isDisconnected = true;
  });

  worker.once('exit', async () => {
    for (let poll = 0; poll < POLLS && worker.isConnected(); poll += 1) await pause(POLL_MS);
    if (!isDisconnected) channel.emit('disconnect');
    for (const [ack, connection] of [...handed]) {
      if (anotherListens()) channel.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack, accepted: false });
      else connection.close();
    }
    handed.clear();
  });
}
