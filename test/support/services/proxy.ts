import { connect, createServer, type Socket } from 'node:net';

export interface Proxy {
  port: number;
  /** Ends every connection now; new ones are refused until `restore`. */
  cut(): Promise<void>;
  /** Accepts connections again, on the same port. */
  restore(): Promise<void>;
  /**
   * Ends every connection once this many more bytes went from clients to the server, and never accepts new ones again.
   */
  cutAfter(clientBytes: number): void;
  /** Takes connections and bytes, and hands nothing on, until `resume`: a server that hangs. */
  stall(): void;
  resume(): void;
  stop(): Promise<void>;
}

/** A TCP proxy on loopback in front of a server, to lose connections with. */
export async function startProxy(targetPort: number): Promise<Proxy> {
  const sockets = new Set<Socket>();
  let bytesLeft = Number.POSITIVE_INFINITY;
  let isStalled = false;

  const server = createServer((client) => {
    const upstream = connect(targetPort, '127.0.0.1');
    pair(client, upstream);
    if (isStalled) pause(client, upstream);
    client.on('data', (chunk) => {
      bytesLeft -= chunk.length;
      if (bytesLeft <= 0) void cut();
      else upstream.write(chunk);
    });
    upstream.on('data', (chunk) => client.write(chunk));
  });

  function pause(...ends: Socket[]): void {
    for (const end of ends) end.pause();
  }

  function pair(client: Socket, upstream: Socket): void {
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one);
      one.on('error', () => {});
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
  }

  function listen(port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', resolve);
    });
  }

  async function cut(): Promise<void> {
    const closed = server.listening ? new Promise((resolve) => server.close(resolve)) : undefined;
    for (const socket of sockets) socket.destroy();
    await closed;
  }

  await listen(0);
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port.');
  return {
    port: address.port,
    cut,
    restore: () => {
      bytesLeft = Number.POSITIVE_INFINITY;
      return listen(address.port);
    },
    cutAfter: (clientBytes) => {
      bytesLeft = clientBytes;
    },
    stall: () => {
      isStalled = true;
      pause(...sockets);
    },
    resume: () => {
      isStalled = false;
      for (const socket of sockets) socket.resume();
    },
    stop: cut,
  };
}
