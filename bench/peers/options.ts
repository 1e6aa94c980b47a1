import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import type { BenchPicture } from '../load/suite.ts';

/** A server that the user has running, and how it is asked for a picture. */
export interface Peer {
  name: string;
  /**
   * The address of its pictures, which are requested by GET. `{width}`, `{format}`, `{quality}` and `{source}` are
   * replaced by those of the case.
   */
  pattern: string;
  port: number;
  /** The root of its process tree; null: the process that listens on the port. */
  pid: number | null;
}

export interface PeerOptions {
  peers: Peer[];
  /** Folder of the pictures; empty: those that the bench has. */
  imagesFolder: string;
  /** Text within the names of the cases to measure; empty: all. */
  cases: string;
  /** Folder of the results; empty: bench/results. */
  out: string;
}

/** Paths of the servers that have their own option. Each needs a setting that lets it fetch from loopback. */
const PEER_PATHS = {
  imgproxy: '/unsafe/rs:fit:{width}:0/q:{quality}/plain/{source}@{format}',
  imagor: '/unsafe/{width}x0/filters:format({format}):quality({quality})/{source}',
  thumbor: '/unsafe/{width}x0/filters:format({format}):quality({quality})/{source}',
  ipx: '/w_{width},f_{format},q_{quality}/{source}',
} as const;
type KnownPeer = keyof typeof PEER_PATHS;

const PATTERN_EXAMPLE = "--pattern 'http://127.0.0.1:8080/{width}/{format}/{source}'";
/** The placeholders that every address needs. */
const REQUIRED_PLACEHOLDERS = ['{width}', '{format}', '{source}'];
const DEFAULT_PORTS: Record<string, number> = { 'http:': 80, 'https:': 443 };

/** @throws Error with a sentence that says what is accepted. */
export function readPeerOptions(argv: readonly string[]): PeerOptions {
  const text = { type: 'string', default: '' } as const;
  const texts = { type: 'string', multiple: true, default: [] as string[] } as const;
  const { values } = parseArgs({
    args: [...argv],
    options: {
      ...{ imgproxy: text, imagor: text, thumbor: text, ipx: text, pattern: texts, pid: texts },
      ...{ images: text, cases: text, out: text },
    },
  });
  const pids = new Map(values.pid.map(readPid));
  const known = (Object.keys(PEER_PATHS) as KnownPeer[])
    .filter((name) => values[name] !== '')
    .map((name) => parsePeer(name, `${values[name].replace(/\/$/, '')}${PEER_PATHS[name]}`, pids));
  const other = values.pattern.map((pattern) => parsePeer(null, pattern, pids));
  const peers = [...known, ...other];
  if (peers.length === 0)
    throw new Error(
      `peers compares Darkroom with servers that you have running: ${Object.keys(PEER_PATHS)
        .map((name) => `--${name} URL`)
        .join(', ')} or ${PATTERN_EXAMPLE} is expected.`,
    );
  const ports = peers.map(({ port }) => port);
  const unknownPort = [...pids.keys()].find((port) => !ports.includes(port));
  if (unknownPort !== undefined)
    throw new Error(`--pid names port ${unknownPort}, but the servers have ${ports.join(', ')}.`);
  return { peers, imagesFolder: values.images, cases: values.cases, out: values.out };
}

/**
 * @param name null for a server that is given only by its address.
 */
function parsePeer(name: KnownPeer | null, pattern: string, pids: ReadonlyMap<number, number>): Peer {
  const option = name ?? 'pattern';
  const missing = REQUIRED_PLACEHOLDERS.filter((part) => !pattern.includes(part));
  if (missing.length > 0)
    throw new Error(`--${option} is "${pattern}", but it has no ${missing.join(', ')}: ${PATTERN_EXAMPLE}.`);
  const url = URL.parse(pattern);
  const defaultPort = DEFAULT_PORTS[url?.protocol ?? ''];
  if (url === null || defaultPort === undefined)
    throw new Error(`--${option} is "${pattern}", but an http or https address is expected.`);
  const port = Number(url.port) || defaultPort;
  return { name: name ?? url.host, pattern, port, pid: pids.get(port) ?? null };
}

function readPid(text: string): [port: number, pid: number] {
  const [, port, pid] = /^(\d+)=(\d+)$/.exec(text) ?? [];
  if (port === undefined || pid === undefined)
    throw new Error(`--pid is "${text}", but the port of a server and its process are expected: 8080=1234.`);
  return [Number(port), Number(pid)];
}

/** Serves the pictures on loopback, for servers that fetch what they work on. */
export interface PictureServer extends Disposable {
  /** A new address of a picture, which no cache of a server knows. */
  nextUrl(picture: BenchPicture): string;
}

export async function serveSources(pictures: readonly BenchPicture[]): Promise<PictureServer> {
  const server = createServer((request, response) => {
    const name = decodeURIComponent(request.url ?? '').replace(/^\/\d+\//, '');
    const picture = pictures.find((one) => one.name === name);
    if (picture === undefined) return void response.writeHead(404).end();
    response
      .writeHead(200, { 'content-type': picture.type, 'content-length': picture.bytes.byteLength })
      .end(picture.bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  let given = 0;
  return {
    nextUrl({ name }) {
      given += 1;
      return `http://127.0.0.1:${port}/${given}/${encodeURIComponent(name)}`;
    },
    [Symbol.dispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
