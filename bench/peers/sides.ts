import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { type Api, openApi, type SentBytes } from '../api.ts';
import { cpuMs, processTreeOf } from '../cpu.ts';
import type { BenchPicture } from '../load/suite.ts';
import type { BenchServer } from '../server.ts';
import type { Peer, PictureServer } from './options.ts';

const MAX_RESPONSE_MS = 60_000;

export type PeerFormat = 'jpeg' | 'webp' | 'avif';

/** One picture that all sides are asked for. */
export interface PeerCase {
  name: string;
  picture: BenchPicture;
  /** Width of the result, in pixels. */
  width: number;
  format: PeerFormat;
}

export interface PeerSide {
  name: string;
  /** CPU time that its process trees have used, in milliseconds; null if they are not known. */
  cpuMs(): number | null;
  ask(peerCase: PeerCase, quality: number): Promise<Response>;
}

/** A server that is asked by GET, and fetches its source from the bench. */
export function peerSide({ name, pattern, port, pid }: Peer, sources: PictureServer): PeerSide {
  const roots = pid === null ? listenersOf(port) : [pid];
  return {
    name,
    cpuMs: () => cpuOf(roots),
    ask({ picture, width, format }, quality) {
      const values = { width, format, quality, source: encodeURIComponent(sources.nextUrl(picture)) };
      const url = Object.entries(values).reduce(
        (text, [part, value]) => text.replaceAll(`{${part}}`, String(value)),
        pattern,
      );
      return fetch(url, { signal: AbortSignal.timeout(MAX_RESPONSE_MS) });
    },
  };
}

/** Darkroom, which is sent the picture with each call. */
export function bodySide(server: BenchServer): PeerSide {
  return {
    name: 'Darkroom, by body',
    cpuMs: () => cpuOf([server.pid]),
    ask: (peerCase, quality) => transform(openApi(server), peerCase, { quality, body: peerCase.picture }),
  };
}

/** Darkroom, which has stored the picture before its first call. */
export function assetSide(server: BenchServer): PeerSide {
  const api = openApi(server);
  const bodies = new Map<BenchPicture, Promise<object>>();
  return {
    name: 'Darkroom, by asset',
    cpuMs: () => cpuOf([server.pid]),
    async ask(peerCase, quality) {
      const { picture } = peerCase;
      const body =
        bodies.get(picture) ?? api.post('/assets/upload', picture).then(({ id }) => ({ assetId: id }));
      bodies.set(picture, body);
      return transform(api, peerCase, { quality, body: await body });
    },
  };
}

function cpuOf(roots: readonly number[]): number | null {
  return roots.length === 0 ? null : roots.reduce((total, pid) => total + cpuMs(pid), 0);
}

function transform(
  api: Api,
  { width, format }: PeerCase,
  { quality, body }: { quality: number; body: object | SentBytes },
): Promise<Response> {
  return api.send(`/images/transform?op=resize&width=${width}&format=${format}&quality=${quality}`, body);
}

/** The state of a listening socket in /proc/net/tcp. */
const LISTENING_STATE = '0A';

/**
 * The roots of the process trees that listen on a TCP port of this machine (Linux). Several processes can share a
 * socket, or have one each; none is returned for a port elsewhere.
 */
export function listenersOf(port: number): number[] {
  const sockets = socketsOf(port);
  if (sockets.size === 0) return [];
  const holders = fileNamesIn('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && holdsSocket(pid, sockets));
  const below = new Set(holders.flatMap((pid) => processTreeOf(pid).filter((member) => member !== pid)));
  return holders.filter((pid) => !below.has(pid));
}

/** Targets of the links in /proc/<pid>/fd that are listening sockets of the port. */
function socketsOf(port: number): Set<string> {
  const portText = port.toString(16).toUpperCase().padStart(4, '0');
  const lines = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) => readText(file).split('\n'));
  return new Set(
    lines.flatMap((line) => {
      const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
      return local?.endsWith(`:${portText}`) && state === LISTENING_STATE ? [`socket:[${inode}]`] : [];
    }),
  );
}

function holdsSocket(pid: number, sockets: ReadonlySet<string>): boolean {
  return fileNamesIn(`/proc/${pid}/fd`).some((name) =>
    sockets.has(readLinkTarget(`/proc/${pid}/fd/${name}`)),
  );
}

function fileNamesIn(folder: string): string[] {
  return readOrNull(() => readdirSync(folder)) ?? [];
}

function readText(file: string): string {
  return readOrNull(() => readFileSync(file, 'utf8')) ?? '';
}

function readLinkTarget(link: string): string {
  return readOrNull(() => readlinkSync(link)) ?? '';
}

/** The result of a read; null if the process has ended, or belongs to another user. */
function readOrNull<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}
