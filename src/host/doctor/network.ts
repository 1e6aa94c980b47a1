import { randomUUID } from 'node:crypto';
import type { Settings } from '../../../config/index.ts';
import { storesExist } from '../../platform/stores/open.ts';
import { checkListenAddress } from '../processes/free-port.ts';
import {
  type DoctorFinding,
  findingsOrProblem,
  innermostMessageOf,
  okFinding,
  problemFinding,
  requestAddress,
  warningFinding,
} from './finding.ts';
import { checkPublicUrlOwner } from './identity.ts';

const PORT_TAKEN_REMEDY = 'Stop the program that listens there, or give the service another port.';

/** Checks the ports of the service: each is free, or a Darkroom listens on it. */
export async function checkPorts({ http }: Settings): Promise<DoctorFinding[]> {
  const { HOST, PORT, METRICS_PORT, METRICS_TOKEN } = http;
  const api = await checkPort('PORT', HOST, PORT, isDarkroomAt);
  if (METRICS_PORT === 0) return [api];
  const servesMetrics = (address: string) => hasDarkroomMetricsAt(address, METRICS_TOKEN);
  return [api, await checkPort('METRICS_PORT', HOST, METRICS_PORT, servesMetrics)];
}

async function checkPort(
  setting: 'PORT' | 'METRICS_PORT',
  host: string,
  port: number,
  isOurs: (address: string) => Promise<boolean>,
): Promise<DoctorFinding> {
  try {
    await checkListenAddress(host, port, setting);
    return okFinding(`${setting} (${port}) is free: no service runs on it.`);
  } catch (error) {
    const { cause } = error as Error & { cause?: NodeJS.ErrnoException };
    if (cause?.code !== 'EADDRINUSE')
      return problemFinding(innermostMessageOf(cause), `Correct HOST (${host}) or ${setting} (${port}).`);
    return (await isOurs(reachableAddressOf(host, port)).catch(() => false))
      ? okFinding(`A Darkroom listens on ${setting} (${port}).`)
      : problemFinding(`${setting} (${port}) is taken by another program.`, PORT_TAKEN_REMEDY);
  }
}

/** The address at which this host reaches its own listener. */
function reachableAddressOf(host: string, port: number): string {
  const reachableHost = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  return `http://${reachableHost.includes(':') ? `[${reachableHost}]` : reachableHost}:${port}`;
}

/** Whether a Darkroom responds: it returns the request id that was sent. */
async function isDarkroomAt(address: string): Promise<boolean> {
  const id = randomUUID();
  const response = await requestAddress(`${address}/healthz`, { 'x-request-id': id });
  return response.headers.get('x-request-id') === id;
}

async function hasDarkroomMetricsAt(address: string, token: string): Promise<boolean> {
  const response = await fetch(`${address}/metrics`, {
    ...(token !== '' && { headers: { authorization: `Bearer ${token}` } }),
    signal: AbortSignal.timeout(5_000),
  });
  return (await response.text()).includes('darkroom_');
}

const MAIL_SERVER_TIMEOUT_MS = 5_000;
const ALL_NETWORKS = ['0.0.0.0/0', '::/0'];
/** The link-local network, in which clouds serve the metadata and the credentials of a machine. */
const METADATA_NETWORK_PREFIX = '169.254.';

/** Checks the public address, and whether it leads to this service. */
export async function checkPublicUrl({ http, stores }: Settings): Promise<DoctorFinding[]> {
  const { PUBLIC_URL, TRUST_PROXY } = http;
  if (PUBLIC_URL === '') {
    const message = 'PUBLIC_URL is not set: links that the service gives out name HOST and PORT.';
    return [warningFinding(message, 'Set it to the address that callers use.')];
  }
  const proxy = reverseProxyFinding(new URL(PUBLIC_URL), http.PORT, TRUST_PROXY);
  const reachedFinding = await checkReachedService(PUBLIC_URL, stores).catch((error) =>
    unreachableAddressFinding(PUBLIC_URL, innermostMessageOf(error), storesExist(stores)),
  );
  return [reachedFinding, proxy];
}

/**
 * The finding about an address that does not respond.
 * @param wasStarted whether a service has ever run on the stores. If not, nothing can respond.
 */
export function unreachableAddressFinding(
  publicUrl: string,
  reason: string,
  wasStarted: boolean,
): DoctorFinding {
  const message = `PUBLIC_URL (${publicUrl}) cannot be reached from here: ${reason.replace(/\.$/, '')}.`;
  return wasStarted
    ? problemFinding(message, 'Start the service; if it runs, check the name, the certificate and the proxy.')
    : warningFinding(message, 'Start the service for the first time, and run the doctor again.');
}

/** Requests the public address, and finds out by the signing key which instance responds. */
async function checkReachedService(publicUrl: string, stores: Settings['stores']): Promise<DoctorFinding> {
  return (await isDarkroomAt(publicUrl))
    ? checkPublicUrlOwner(publicUrl, stores)
    : problemFinding(
        `PUBLIC_URL (${publicUrl}) answers, but not as this service does.`,
        'Point it, or the proxy behind it, to HOST and PORT of the service.',
      );
}

export function reverseProxyFinding(publicUrl: URL, port: number, trusted: string): DoctorFinding {
  const isDirect = publicUrl.port === String(port);
  if (!isDirect && trusted === '')
    return warningFinding(
      'PUBLIC_URL leads through a proxy, and TRUST_PROXY is empty: all callers without a key share one address.',
      'Set TRUST_PROXY to the address of the proxy.',
    );
  return okFinding(
    trusted === '' ? 'No proxy is trusted, and none is in between.' : `TRUST_PROXY is ${trusted}.`,
  );
}

/**
 * The findings about the private networks that callers may reach, about plain http, and about proxies that the
 * environment names.
 */
export function outboundNetworkFindings(
  settings: Settings,
  environment: Record<string, string | undefined>,
): DoctorFinding[] {
  const findings = [...outboundFaultFindings(settings, environment)];
  if (findings.length > 0) return findings;
  return [okFinding('Callers reach only public addresses, and webhooks go over https.')];
}

function* outboundFaultFindings(
  { outbound: { OUTBOUND_ALLOWED_SUBNETS: allowed, OUTBOUND_ALLOW_HTTP } }: Settings,
  environment: Record<string, string | undefined>,
): Generator<DoctorFinding> {
  const open = allowed.filter((one) => ALL_NETWORKS.includes(one) || one.startsWith(METADATA_NETWORK_PREFIX));
  if (open.length > 0)
    yield problemFinding(
      `OUTBOUND_ALLOWED_SUBNETS lets callers reach ${open.join(', ')}, including the metadata service of the cloud.`,
      'List only the private networks that callers need.',
    );
  else if (allowed.length > 0)
    yield warningFinding(
      `OUTBOUND_ALLOWED_SUBNETS lets callers reach ${allowed.join(', ')}.`,
      'Leave it empty unless callers need these networks.',
    );
  if (OUTBOUND_ALLOW_HTTP)
    yield warningFinding(
      'OUTBOUND_ALLOW_HTTP lets webhooks go to plain http.',
      'Set it to false outside of tests.',
    );
  const proxies = ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'].filter(
    (name) => environment[name],
  );
  if (proxies.length > 0)
    yield warningFinding(
      `${proxies.join(' and ')} are set, and not used: urls and webhooks are dialled directly.`,
      'Let this host reach the internet without a proxy.',
    );
}

/** Checks the sign-in to the mail server. No mail is sent. */
export async function checkMail({ mail: { SMTP_URL, MAIL_FROM } }: Settings): Promise<DoctorFinding[]> {
  if (SMTP_URL === '') {
    const message =
      'SMTP_URL is not set: owners of disabled webhook endpoints are not mailed; mails go into the log.';
    return [warningFinding(message, 'Set SMTP_URL and MAIL_FROM.')];
  }
  const sender = MAIL_FROM.endsWith('@localhost')
    ? warningFinding(
        `Mails come from ${MAIL_FROM}, which servers refuse.`,
        'Set MAIL_FROM to an address of your domain.',
      )
    : okFinding(`Mails come from ${MAIL_FROM}.`);
  const server = await findingsOrProblem(
    async () => {
      const { createTransport } = await import('nodemailer');
      const limits = { connectionTimeout: MAIL_SERVER_TIMEOUT_MS, greetingTimeout: MAIL_SERVER_TIMEOUT_MS };
      const transport = createTransport({ url: SMTP_URL, ...limits, socketTimeout: MAIL_SERVER_TIMEOUT_MS });
      await transport.verify().finally(() => transport.close());
      return [okFinding('The mail server takes the sign-in.')];
    },
    (reason) => `The mail server does not take the sign-in: ${reason}.`,
    'Check SMTP_URL: its scheme (smtp or smtps), port, user and password.',
  );
  return [...server, sender];
}

const PROVIDER_ADDRESS_SETTINGS = ['OPENAI_BASE_URL', 'GEMINI_BASE_URL', 'REPLICATE_BASE_URL'] as const;

/** Checks whether the configured addresses of model providers respond. No key is sent, and no model runs. */
export async function checkProviders({ providers }: Settings): Promise<DoctorFinding[]> {
  const set = PROVIDER_ADDRESS_SETTINGS.filter((name) => providers[name] !== '');
  if (set.length === 0) return [okFinding('No address of a model provider is set.')];
  const found = await Promise.all(set.map((name) => checkProviderAddress(name, providers[name])));
  return found.flat();
}

/** Checks that an address responds. Any HTTP response is enough, because only real calls test a provider's key. */
function checkProviderAddress(name: string, url: string): Promise<DoctorFinding[]> {
  return findingsOrProblem(
    async () => {
      await requestAddress(url);
      return [okFinding(`${name} (${url}) answers.`)];
    },
    (reason) => `${name} (${url}) does not answer: ${reason}.`,
    `Start the server of the models, or correct ${name}: AI ops that use it fail until then.`,
  );
}

/** The port of OTLP over gRPC, which the service does not support. */
const OTLP_GRPC_PORT = '4317';

/** Checks the receiver of traces that OpenTelemetry's standard settings name. */
export async function checkTelemetry(
  environment: Readonly<Record<string, string | undefined>>,
): Promise<DoctorFinding[]> {
  const named = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'];
  const setting = named.find((name) => environment[name]);
  const address = setting === undefined ? '' : (environment[setting] ?? '');
  if (setting === undefined || environment.OTEL_SDK_DISABLED === 'true')
    return [okFinding('No traces are sent.')];
  if (new URL(address).port === OTLP_GRPC_PORT)
    return [
      warningFinding(
        `${setting} (${address}) names port ${OTLP_GRPC_PORT}, the port of gRPC: traces are sent over HTTP, and would be lost.`,
        "Name the receiver's port for HTTP, which is 4318.",
      ),
    ];
  return requestAddress(address).then(
    () => [okFinding(`Traces are sent to ${address}.`)],
    (error) => [
      warningFinding(
        `${setting} (${address}) does not answer: ${innermostMessageOf(error)}. Traces are lost.`,
        'Start the receiver, correct the address, or leave it out.',
      ),
    ],
  );
}
