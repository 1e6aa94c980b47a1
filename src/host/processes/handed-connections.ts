import type { Worker } from 'node:cluster';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';

/** A connection, as the cluster module of Node represents it. */
interface ClusterConnection {
  close(): void;
}

/**
 * A message of Node's cluster module. Such messages send a connection to a process, confirm that it has arrived, and
 * begin or end the listening of a process. `key` identifies the address.
 */
interface ClusterMessage {
  act?: string;
  seq?: number;
  ack?: number;
  key?: string;
}

/** The connections that the primary accepts for one process. */
export interface HandedConnections {
  /** Whether the process listens. */
  isListening(): boolean;
  /** Whether the process has confirmed every connection that was sent to it, so that it can take the next one. */
  isFree(): boolean;
  /** The number of connections that were sent to the process so far. */
  sent(): number;
  /** Sends the process no further connections. The address is closed when its last process ends. */
  end(): void;
}

/** The most polls for the end of the channel to a dead process. Meanwhile its buffered messages are read. */
const MAX_CHANNEL_POLLS = 200;
const CHANNEL_POLL_MS = 5;
/**
 * The most event loop turns to wait until no connection is left. Each turn accepts one of the connections in the
 * kernel, of which there are 511 at most (the backlog of Node). If all processes hang, the wait takes 5 s.
 */
const MAX_LISTENING_TURNS = 1_000;

/** The release of Node whose cluster messages this file knows; see untestedNodeWarning. */
const TESTED_NODE_RELEASE = 24;

/**
 * The warning about a release of Node that was not tested; null for the tested one. The rescue of handed connections
 * relies on Node's internal cluster messages. If these differ, a connection that is being sent to a process is lost
 * when that process is killed.
 */
export function untestedNodeWarning(version: string = process.versions.node): string | null {
  if (Number.parseInt(version, 10) === TESTED_NODE_RELEASE) return null;
  return `Node ${version} is not the release ${TESTED_NODE_RELEASE} that this service was tested with: a connection handed to a process that dies at that moment may hang.`;
}

/**
 * Watches the connections that are sent to a process, and rescues a connection that the process has not accepted when
 * it dies.
 *
 * Node's round-robin scheduling sends a connection in a message, and waits until the process confirms it. A process
 * that is killed in between never confirms: the connection stays open, and no process serves it. The dead process may
 * even stay on the scheduler's list, because its channel still waits for the connection and never reports that it is
 * closed. Therefore this function emits both events itself: `disconnect`, and "connection not accepted", upon which the
 * scheduler selects another process. Nothing has been read from such a connection, because a process confirms before it
 * reads. If no other process listens, the connection is closed, and its client can call again.
 *
 * Without this hand-over (`SCHED_NONE`), no rescue is needed, but the processes get very different numbers of
 * connections. This was measured 20 times with two keep-alive connections per process, opened at once. The busiest of 8
 * processes had half of the connections in the median and 94 % at worst, against 19 % and 25 % by round robin. The
 * busiest of 4 processes had half and 88 %, against 38 %. One of 2 processes had all of them at worst.
 *
 * @see https://github.com/nodejs/node/blob/v24.x/lib/internal/cluster/round_robin_handle.js
 */
export function rescueConnections(worker: Worker, anotherListens: () => boolean): HandedConnections {
  const channel = worker.process;
  const unconfirmed = new Map<number, ClusterConnection>();
  let sent = 0;
  /**
   * The key by which Node's cluster primary knows the listening address. It comes in the primary's reply to the listen
   * request, and is undefined while the process does not listen.
   */
  let key: string | undefined;
  const send = channel.send.bind(channel) as (...parts: unknown[]) => boolean;
  const sendAndRemember = (message: ClusterMessage, connection?: ClusterConnection, ...rest: unknown[]) => {
    if (message.act === 'newconn' && message.seq !== undefined && connection !== undefined) {
      sent += 1;
      unconfirmed.set(message.seq, connection);
    } else if (message.ack !== undefined && message.key !== undefined) {
      key = message.key;
    }
    return send(message, connection, ...rest);
  };
  channel.send = sendAndRemember as typeof channel.send;
  channel.on('internalMessage', ({ act, ack }: ClusterMessage) => {
    if (ack !== undefined) unconfirmed.delete(ack);
    if (act === 'close') key = undefined;
  });
  let isDisconnected = false;
  channel.once('disconnect', () => {
    isDisconnected = true;
  });

  worker.once('exit', async () => {
    for (let poll = 0; poll < MAX_CHANNEL_POLLS && worker.isConnected(); poll += 1)
      await pause(CHANNEL_POLL_MS);
    if (!isDisconnected) channel.emit('disconnect');
    for (const [ack, connection] of [...unconfirmed]) {
      if (anotherListens()) channel.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack, accepted: false });
      else connection.close();
    }
    unconfirmed.clear();
  });

  return {
    isListening: () => key !== undefined,
    isFree: () => unconfirmed.size === 0,
    sent: () => sent,
    end() {
      channel.emit('internalMessage', { cmd: 'NODE_CLUSTER', act: 'close', key });
    },
  };
}

/**
 * Closes the address of the processes without losing a connection that waits in the kernel or in the primary. It
 * resolves when the processes have received all of these connections, and new clients are refused. If a process closes
 * the address itself, Node resets the connections that wait and those that are on their way to it.
 *
 * Node accepts one connection per event loop turn. Therefore no connection waits in the kernel after a turn in which
 * none was sent, and none waits in the primary while a process is free. A client that connects between that turn and
 * the close is still reset, which TCP cannot prevent.
 *
 * @see https://github.com/nodejs/node/blob/v24.x/lib/internal/cluster/primary.js
 */
export async function stopListening(processes: readonly HandedConnections[]): Promise<void> {
  const listening = () => processes.filter((process) => process.isListening());
  const isFree = () => listening().some((process) => process.isFree());
  const sent = () => processes.reduce((sum, process) => sum + process.sent(), 0);
  let sentBefore = -1;
  for (let turn = 0; turn < MAX_LISTENING_TURNS && listening().length > 0; turn += 1) {
    await nextTurn();
    if (isFree() && sent() === sentBefore) break;
    sentBefore = sent();
    if (!isFree()) await pause(CHANNEL_POLL_MS);
  }
  for (const process of listening()) process.end();
}
