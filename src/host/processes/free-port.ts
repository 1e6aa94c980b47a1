import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/**
 * Checks that an address can be listened on, before anything is created or started.
 * @param port 0 means any free port.
 * @param setting the name of the setting for the port.
 * @returns the port.
 * @throws Error with a sentence for the operator.
 */
export async function checkListenAddress(
  host: string,
  port: number,
  setting: 'PORT' | 'METRICS_PORT' = 'PORT',
): Promise<number> {
  const probe = createServer();
  try {
    probe.listen({ host, port, exclusive: true });
    await once(probe, 'listening');
  } catch (error) {
    throw new Error(listenErrorMessage(error as NodeJS.ErrnoException, host, port, setting), {
      cause: error,
    });
  }
  const { port: free } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return free;
}

function listenErrorMessage(
  { code, message }: NodeJS.ErrnoException,
  host: string,
  port: number,
  setting: string,
): string {
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} on ${host} is in use: stop what listens there or set ${setting}.`;
    case 'EACCES':
      return `Port ${port} may not be listened on by this user: set ${setting} to one above 1023.`;
    case 'EADDRNOTAVAIL':
      return `${host} is not an address of this machine: set HOST to one that is, or to 0.0.0.0 (:: with IPv6) for all.`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `HOST is ${host}, which is not an address and does not resolve to one.`;
    default:
      return `Nothing can listen on ${host}, port ${port}: ${message}.`;
  }
}
