import { type BlockList, isIP } from 'node:net';
import { isPublicAddress, networksContain } from './addresses.ts';
import {
  errorOfAbortedSignal,
  malformedTargetError,
  notPublicError,
  OutboundError,
  targetRefusedError,
} from './errors.ts';

export interface ResolvedAddress {
  address: string;
  family: 4 | 6;
}

/** Resolves all addresses of a name; rejects when there is none. */
export type ResolveHostName = (hostname: string) => Promise<ResolvedAddress[]>;

/** The targets that a kind of call may have. */
export interface TargetRules {
  allowsHttp: boolean;
  /** Whether every port is allowed; otherwise only 443 is. */
  allowsAnyPort: boolean;
}

/** The network rules, as configured by the operator or by tests. */
export interface NetworkRules {
  /** Networks that may be reached although they are not public. */
  allowed: BlockList;
  resolve: ResolveHostName;
  /** The timeout for the name, TCP and TLS together. */
  connectTimeoutMs: number;
}

/** A URL whose addresses are all allowed. Connections go to these addresses, and its name is not resolved again. */
export interface OutboundTarget {
  url: URL;
  addresses: readonly ResolvedAddress[];
  /** The deadline of the connection by `performance.now()`. It includes resolving the name. */
  connectByMs: number;
}

const HTTPS_PORT = '443';

/**
 * Parses and resolves a URL of a user, and refuses it unless each of its addresses is public or in an allowed network.
 * The WHATWG parser determines the host, and normalizes decimal, octal and hexadecimal addresses.
 * @throws OutboundError `refused`, `dns` or `timeout`; the signal's reason when the caller aborted.
 */
export async function resolveTarget(
  text: string,
  rules: TargetRules,
  network: NetworkRules,
  signal?: AbortSignal,
): Promise<OutboundTarget> {
  const url = parse(text, rules);
  const connectByMs = performance.now() + network.connectTimeoutMs;
  const deadline = AbortSignal.timeout(network.connectTimeoutMs);
  const ended = signal === undefined ? deadline : AbortSignal.any([deadline, signal]);
  const addresses = await untilAborted(resolveAddresses(url, network.resolve), ended);
  if (!addresses.every(({ address }) => isAddressAllowed(address, network.allowed))) {
    throw isLiteral(url)
      ? targetRefusedError(`${url.hostname} is not a public address`)
      : notPublicError(url.hostname);
  }
  return { url, addresses, connectByMs };
}

/** Whether this address may be connected to. */
export function isAddressAllowed(address: string, allowed: BlockList): boolean {
  return isPublicAddress(address) || networksContain(allowed, address);
}

function parse(text: string, rules: TargetRules): URL {
  const url = URL.parse(text);
  if (url === null) throw malformedTargetError('it is not an absolute URL', plainAddress(`https://${text}`));
  if (url.protocol !== 'https:' && !(rules.allowsHttp && url.protocol === 'http:')) {
    const schemes = rules.allowsHttp ? 'http or https' : 'https';
    throw malformedTargetError(
      `its scheme is not ${schemes}`,
      plainAddress(text.replace(/^http:/i, 'https:')),
    );
  }
  if (url.username !== '' || url.password !== '')
    throw targetRefusedError('it carries a user name or a password');
  if (!rules.allowsAnyPort && url.port !== '' && url.port !== HTTPS_PORT)
    throw malformedTargetError('its port is not 443', plainAddress(text));
  return url;
}

/** An https address of a host with a dot in its name, on the usual port; undefined if the text is none. */
function plainAddress(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || url.protocol !== 'https:' || !url.hostname.includes('.')) return undefined;
  url.port = '';
  return url.href;
}

/** Whether the host is an IP address, so that an error may name it without revealing anything. */
function isLiteral({ hostname }: URL): boolean {
  return isIP(bare(hostname)) !== 0;
}

/** An address without the brackets that a URL puts around IPv6. */
function bare(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '');
}

async function resolveAddresses({ hostname }: URL, resolve: ResolveHostName): Promise<ResolvedAddress[]> {
  const literal = bare(hostname);
  const version = isIP(literal);
  if (version !== 0) return [{ address: literal, family: version === 6 ? 6 : 4 }];
  const unresolved = (cause?: unknown) =>
    new OutboundError('dns', `DNS: ${hostname} does not resolve`, { cause, isAboutName: true });
  const addresses = await resolve(hostname).catch((error: unknown) => {
    throw unresolved(error);
  });
  if (addresses.length === 0) throw unresolved();
  return addresses;
}

/** Rejects when the signal aborts. The look-up itself cannot be aborted, so its result is ignored then. */
function untilAborted<T>(lookup: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(errorOfAbortedSignal(signal, 'to resolve its name'));
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  return Promise.race([lookup, aborted]).finally(() => signal.removeEventListener('abort', abort));
}
