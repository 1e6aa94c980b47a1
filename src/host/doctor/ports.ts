import { randomUUID } from 'node:crypto';
import type { Settings } from '../../../config/index.ts';
import { checkListenAddress } from '../processes/free-port.ts';
import { type DoctorFinding, innermostMessageOf, okFinding, problemFinding } from './finding.ts';
import { requestAddress } from './times.ts';

const REMEDY = 'Stop the program that listens there, or give the service another port.';

/** Checks the ports of the service: each is free, or a Darkroom listens on it. */
export async function checkPorts({ http }: Settings): Promise<DoctorFinding[]> {
  const { HOST, PORT, METRICS_PORT, METRICS_TOKEN } = http;
  const api = await judgePort('PORT', HOST, PORT, answersAsDarkroom);
  if (METRICS_PORT === 0) return [api];
  const servesMetrics = (address: string) => servesOurMetrics(address, METRICS_TOKEN);
  return [api, await judgePort('METRICS_PORT', HOST, METRICS_PORT, servesMetrics)];
}

async function judgePort(
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
    return (await isOurs(addressOf(host, port)).catch(() => false))
      ? okFinding(`A Darkroom listens on ${setting} (${port}).`)
      : problemFinding(`${setting} (${port}) is taken by another program.`, REMEDY);
  }
}

/** An address that reaches a listener on the host. */
function addressOf(host: string, port: number): string {
  const reached = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  return `http://${reached.includes(':') ? `[${reached}]` : reached}:${port}`;
}

/** Whether a Darkroom responds: it returns the request id that was sent. */
export async function answersAsDarkroom(address: string): Promise<boolean> {
  const id = randomUUID();
  const response = await requestAddress(`${address}/healthz`, { 'x-request-id': id });
  return response.headers.get('x-request-id') === id;
}

async function servesOurMetrics(address: string, token: string): Promise<boolean> {
  const response = await fetch(`${address}/metrics`, {
    ...(token !== '' && { headers: { authorization: `Bearer ${token}` } }),
    signal: AbortSignal.timeout(5_000),
  });
  return (await response.text()).includes('darkroom_');
}
