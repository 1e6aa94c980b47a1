import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { treeOf } from '../cpu.ts';

/** State of a listening socket in /proc/net/tcp. */
const LISTENING = '0A';

/**
 * The roots of the process trees that listen on a TCP port of this machine (Linux). Several processes can share a
 * socket, or have one each; none is returned for a port elsewhere.
 */
export function listenersOf(port: number): number[] {
  const sockets = socketsOf(port);
  if (sockets.size === 0) return [];
  const holders = namesIn('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && holdsOne(pid, sockets));
  const below = new Set(holders.flatMap((pid) => treeOf(pid).filter((member) => member !== pid)));
  return holders.filter((pid) => !below.has(pid));
}

/** Targets of the links in /proc/<pid>/fd that are listening sockets of the port. */
function socketsOf(port: number): Set<string> {
  const portText = port.toString(16).toUpperCase().padStart(4, '0');
  const lines = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) => textOf(file).split('\n'));
  return new Set(
    lines.flatMap((line) => {
      const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
      return local?.endsWith(`:${portText}`) && state === LISTENING ? [`socket:[${inode}]`] : [];
    }),
  );
}

function holdsOne(pid: number, sockets: ReadonlySet<string>): boolean {
  return namesIn(`/proc/${pid}/fd`).some((name) => sockets.has(targetOf(`/proc/${pid}/fd/${name}`)));
}

function namesIn(folder: string): string[] {
  return readable(() => readdirSync(folder)) ?? [];
}

function textOf(file: string): string {
  return readable(() => readFileSync(file, 'utf8')) ?? '';
}

function targetOf(link: string): string {
  return readable(() => readlinkSync(link)) ?? '';
}

/** Null for what ended meanwhile or belongs to another user. */
function readable<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}
