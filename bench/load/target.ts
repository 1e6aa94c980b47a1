import { createInterface } from 'node:readline/promises';
import { openAccount, startBenchServer } from '../server.ts';
import type { LoadSuite } from './suite.ts';

/** The instance that is loaded. */
export interface Target {
  /** URL without a slash at the end. */
  url: string;
  /** API keys, of as many accounts; calls use them in turn. */
  keys: readonly string[];
  /** Id of the primary process, where it was started here; otherwise null. */
  pid: number | null;
  stop(): Promise<void>;
}

/** Calls that prepare a suite: JSON, or bytes with their type. */
export interface Api {
  /**
   * @param path behind /api/v1.
   * @returns the `data` of the answer.
   * @throws Error with the answer's text when the call is refused.
   */
  post(path: string, body: object | { type: string; bytes: Buffer }): Promise<Record<string, unknown>>;
}

export interface TargetOptions {
  /** Empty: the bench starts the service itself. */
  url: string;
  keys: readonly string[];
  /** Whether to load another machine's instance without asking. */
  yes: boolean;
  settings: Record<string, string>;
  /** Number of accounts that the bench makes where it starts the service. */
  accounts: number;
}

/** The part of the options that a suite decides. */
export function environmentOf({ settings = {}, accounts = 1 }: LoadSuite) {
  return { settings, accounts };
}

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/**
 * Starts the service, or uses the instance at the URL.
 * @throws Error when the URL is on another machine and the person at the terminal does not agree to load it.
 */
export async function openTarget(options: TargetOptions): Promise<Target> {
  const { url, keys, yes, settings, accounts } = options;
  if (url === '') return startTarget(settings, { accounts });
  if (keys.length === 0)
    throw new Error(
      'An instance at --url needs an API key of the account to load it with: --key, DARKROOM_KEY, or --keys FILE with one key on each line.',
    );
  const address = new URL(url);
  if (!LOOPBACK.test(address.hostname) && !yes) await agree(address.host);
  return { url: address.origin, keys, pid: null, stop: async () => undefined };
}

/** Starts the service here. @param options.main its entry; by default that of this tree. */
export async function startTarget(
  settings: Record<string, string>,
  { main, accounts = 1 }: { main?: string; accounts?: number } = {},
): Promise<Target> {
  const server = await startBenchServer(settings, main);
  const others = Array.from({ length: accounts - 1 }, (_, index) =>
    openAccount(server, { email: `load-${index + 2}@example.com`, plan: 'scale', credits: 1_000_000 }),
  );
  const { url, key, pid, stop } = server;
  return { url, keys: [key, ...others], pid, stop };
}

async function agree(host: string): Promise<void> {
  if (!process.stdin.isTTY)
    throw new Error(`${host} is not this machine: add --yes to load it all the same.`);
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question(`${host} is not this machine. Load it? (yes/no) `);
  terminal.close();
  if (answer.trim() !== 'yes') throw new Error(`${host} was not loaded.`);
}

/** The API of an instance, for the preparation of a suite. */
export function apiOf({ url, key }: { url: string; key: string }): Api {
  return {
    async post(path, body) {
      const isPicture = 'bytes' in body && Buffer.isBuffer(body.bytes);
      const answer = await fetch(`${url}/api/v1${path}`, {
        method: 'POST',
        headers: {
          authorization: `ApiKey ${key}`,
          'content-type': isPicture && 'type' in body ? String(body.type) : 'application/json',
        },
        body: isPicture ? new Uint8Array(body.bytes as Buffer) : JSON.stringify(body),
      });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`POST ${path} answered ${answer.status}: ${text.slice(0, 500)}`);
      return (JSON.parse(text) as { data: Record<string, unknown> }).data;
    },
  };
}
