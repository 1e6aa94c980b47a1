import { createInterface } from 'node:readline/promises';
import { commitOf } from '../results.ts';
import { openAccount, startBenchServer } from '../server.ts';
import type { LoadSuite } from './suite.ts';

/** The instance that is loaded. */
export interface LoadTarget extends AsyncDisposable {
  /** Its address, or the tree that it was started from. */
  name: string;
  /** URL without a slash at the end. */
  url: string;
  /** API keys, of as many accounts; calls use them in turn. */
  keys: readonly string[];
  /** Id of the primary process, if it was started here; otherwise null. */
  pid: number | null;
}

export interface TargetOptions {
  /** The URL of the instance; if empty, the bench starts the service itself. */
  url: string;
  keys: readonly string[];
  /** Whether to load another machine's instance without asking. */
  yes: boolean;
  settings: Record<string, string>;
  /** Number of accounts that the bench makes if it starts the service. */
  accounts: number;
}

/** The options that the suite decides. */
export function environmentOf({ settings = {}, accounts = 1 }: LoadSuite) {
  return { settings, accounts };
}

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/**
 * Starts the service, or uses the instance at the URL.
 * @throws Error when the URL is on another machine and the person at the terminal does not agree to load it.
 */
export async function openTarget(options: TargetOptions): Promise<LoadTarget> {
  const { url, keys, yes, settings, accounts } = options;
  if (url === '') return startTarget(settings, { accounts });
  const address = parseAddress(url, '--url');
  if (keys.length === 0)
    throw new Error(
      'An instance at --url needs an API key of the account to load it with: --key, DARKROOM_KEY, or --keys FILE with one key on each line.',
    );
  if (!LOOPBACK.test(address.hostname) && !yes) await confirmLoad(address.host);
  const { origin } = address;
  return { name: origin, url: origin, keys, pid: null, [Symbol.asyncDispose]: async () => undefined };
}

/** @throws Error that names the option if this is not an http or https address. */
function parseAddress(text: string, option: string): URL {
  const address = URL.parse(text);
  if (address !== null && /^https?:$/.test(address.protocol)) return address;
  const guess = URL.canParse(`http://${text}`) ? `http://${text}` : 'http://127.0.0.1:3000';
  throw new Error(`${option} is "${text}", but an http or https address is expected, such as ${guess}.`);
}

/**
 * Starts the service on this machine.
 * @param options.main the entry file of the service; by default that of this tree.
 * @param options.name the name of that tree in reports.
 */
export async function startTarget(
  settings: Record<string, string>,
  options: { main?: string; name?: string; accounts?: number } = {},
): Promise<LoadTarget> {
  const { main, name = treeName(), accounts = 1 } = options;
  const server = await startBenchServer(settings, main);
  const others = Array.from({ length: accounts - 1 }, (_, index) =>
    openAccount(server, { email: `load-${index + 2}@example.com`, plan: 'scale', credits: 1_000_000 }),
  );
  const { url, key, pid } = server;
  return {
    ...{ name, url, keys: [key, ...others], pid },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

function treeName(): string {
  const commit = commitOf();
  return commit === null ? 'this tree' : `this tree (${commit})`;
}

async function confirmLoad(host: string): Promise<void> {
  if (!process.stdin.isTTY)
    throw new Error(`${host} is not this machine: add --yes to load it all the same.`);
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question(`${host} is not this machine. Load it? (yes/no) `);
  terminal.close();
  if (answer.trim() !== 'yes') throw new Error(`${host} was not loaded.`);
}
