import type { Worker } from 'node:cluster';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';

/** A connection in the form of the cluster module. */
interface Connection {
  close(): void;
}

/**
 * The messages that send a connection to a process and confirm that it accepted it, and those that begin and end its
 * listening. `key` names the address.
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
  /** Whether the process has accepted every connection that was sent to it, and takes the next one. */
  isFree(): boolean;
  /** The number of connections that were sent to it until now. */
  sent(): number;
  /** Sends it no further ones. The address is closed with its last process. */
  end(): void;
}

/** The number of polls that read the buffered messages of a dead process. */
const POLLS = 200;
const POLL_MS = 5;
/** More turns than connections can wait in the kernel (511, the backlog of Node); 5 s if all processes hang. */
const MAX_TURNS = 1_000;

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
 * Watches the connections that are sent to a process, and rescues one that the process does not accept before it dies.
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
export function watchConnections(worker: Worker, anotherListens: () => boolean): HandedConnections {
  const channel = worker.process;
  const handed = new Map<number, Connection>();
  let sent = 0;
  /** Present while the process listens: the answer to its question for the address has it. */
  let key: string | undefined;
  const send = channel.send.bind(channel) as (...parts: unknown[]) => boolean;
  const sendAndRemember = (message: ClusterMessage, connection?: Connection, ...rest: unknown[]) => {
    if (message.act === 'newconn' && message.seq !== undefined && connection !== undefined) {
      sent += 1;
      handed.set(message.seq, connection);
    } else if (message.ack !== undefined && message.key !== undefined) {
      key = message.key;
    }
    return send(message, connection, ...rest);
  };
  channel.send = sendAndRemember as typeof channel.send;
  channel.on('internalMessage', ({ act, ack }: ClusterMessage) => {
    if (ack !== undefined) handed.delete(ack);
    if (act === 'close') key = undefined;
  });
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

  return {
    isListening: () => key !== undefined,
    isFree: () => handed.size === 0,
    sent: () => sent,
    end() {
      channel.emit('internalMessage', { cmd: 'NODE_CLUSTER', act: 'close', key });
    },
  };
}

/**
 * Closes the address of the processes without losing a connection that waits in the kernel or in the primary: resolves
 * when the processes were sent all of them, and clients are refused. When a process closes the address itself, Node
 * resets the connections that wait and those that are on their way to it.
 *
 * Node accepts one connection in each turn of the event loop, so none waits in the kernel after a turn in which none
 * was sent, and none waits in the primary while a process is free. What is left is the moment between that turn and the
 * close: a client that connects in it is reset, which TCP gives no means to prevent.
 *
 * @see https://github.com/nodejs/node/blob/v24.x/lib/internal/cluster/primary.js
 */
export async function stopListening(processes: readonly HandedConnections[]): Promise<void> {
  const listening = () => processes.filter((process) => process.isListening());
  const isFree = () => listening().some((process) => process.isFree());
  const sent = () => processes.reduce((sum, process) => sum + process.sent(), 0);
  let sentBefore = -1;
  for (let turn = 0; turn < MAX_TURNS && listening().length > 0; turn += 1) {
    await nextTurn();
    if (isFree() && sent() === sentBefore) break;
    sentBefore = sent();
    if (!isFree()) await pause(POLL_MS);
  }
  for (const process of listening()) process.end();
}
