import { promises as dns } from 'node:dns';
import { readFile } from 'node:fs/promises';
import type { Address, Resolve } from './target.ts';

/** The timeout of a query to a name server, and the number of attempts. */
const TIMEOUT_MS = 1_500;
const MAX_TRIES = 2;
const HOSTS_FILE = '/etc/hosts';
/** Results of DNS for a missing name, or missing addresses of a family. */
const NOT_FOUND_CODES = ['ENODATA', 'ENOTFOUND'];

/**
 * Resolves names by the hosts file, and by DNS over separate sockets with timeouts. The system's resolver would occupy
 * one of libuv's few threads while a name server does not respond, and files and pictures need the same threads. Search
 * domains are not appended, because URLs contain full host names.
 */
export const resolveName: Resolve = async (hostname) => {
  const listed = addressesIn(await readFile(HOSTS_FILE, 'utf8').catch(() => ''), hostname);
  return listed.length > 0 ? listed : queryDns(hostname);
};

/** The addresses that a hosts file gives a name: `address name alias … # comment`, one per line. */
export function addressesIn(hosts: string, hostname: string): Address[] {
  const name = withoutDot(hostname);
  return hosts.split('\n').flatMap((line) => {
    const [address = '', ...names] = (line.split('#')[0] ?? '').trim().split(/\s+/);
    if (!names.some((other) => withoutDot(other) === name)) return [];
    return [{ address, family: address.includes(':') ? 6 : 4 } as const];
  });
}

function withoutDot(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}

/** Queries both families at once. If one of them fails, the other one's addresses are used. */
async function queryDns(hostname: string): Promise<Address[]> {
  const resolver = new dns.Resolver({ timeout: TIMEOUT_MS, tries: MAX_TRIES });
  const [v4, v6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  const addresses = [...addressesOf(v4, 4), ...addressesOf(v6, 6)];
  if (addresses.length > 0) return addresses;
  const failure = [v4, v6].find(
    (answer) => answer.status === 'rejected' && !NOT_FOUND_CODES.includes(answer.reason?.code),
  );
  if (failure?.status === 'rejected') throw failure.reason;
  return [];
}

function addressesOf(answer: PromiseSettledResult<string[]>, family: 4 | 6): Address[] {
  return answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family })) : [];
}
