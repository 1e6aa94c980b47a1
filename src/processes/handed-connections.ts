import type { Worker } from 'node:cluster';
import { setTimeout as pause } from 'node:timers/promises';

/** A connection as the cluster module holds it. */
interface Connection {
  close(): void;
}

/** What goes along with a connection that is handed to a process, and what comes back when the process took it. */
interface ClusterMessage {
  act?: string;
  seq?: number;
  ack?: number;
}

/** How often it is looked whether the last words of a dead process were read; they lie in the channel already. */
const LOOKS = 200;
const LOOK_MS = 5;

/**
 * Sees to it that a connection handed to a process is served though the process dies before it takes it.
 *
 * Node's round-robin scheduling hands a connection over in a message and forgets it until the process answers that it
 * took it. From a process killed in between no answer comes: the connection stays open, served by nobody, and the dead
 * process may stay on the list of those that are given connections, because its channel, waiting to learn that the
 * handle arrived, never says that it is closed. So both are said in its stead: that it is gone, and that it did not take
 * the connection, upon which the scheduler chooses another. Nothing was read from such a connection, for a process
 * answers before it reads. Where no other process listens the connection is closed, and its client can call again.
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
  let saidClosed = false;
  channel.once('disconnect', () => {
    saidClosed = true;
  });

  worker.once('exit', async () => {
    for (let look = 0; look < LOOKS && worker.isConnected(); look += 1) await pause(LOOK_MS);
    if (!saidClosed) channel.emit('disconnect');
    for (const [ack, connection] of [...handed]) {
      if (anotherListens()) channel.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack, accepted: false });
      else connection.close();
    }
    handed.clear();
  });
}
