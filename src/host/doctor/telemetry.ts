import {
  type DoctorFinding,
  innermostMessageOf,
  okFinding,
  problemFinding,
  warningFinding,
} from './finding.ts';
import { requestAddress } from './times.ts';

/** The port of OTLP over gRPC, which the service does not support. */
const GRPC_PORT = '4317';

/** Checks the receiver of traces that OpenTelemetry's standard settings name. */
export async function checkTelemetry(
  environment: Readonly<Record<string, string | undefined>>,
): Promise<DoctorFinding[]> {
  const named = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'];
  const setting = named.find((name) => environment[name]);
  const address = setting === undefined ? '' : (environment[setting] ?? '');
  if (setting === undefined || environment.OTEL_SDK_DISABLED === 'true')
    return [okFinding('No traces are sent.')];
  if (!URL.canParse(address))
    return [
      problemFinding(
        `${setting} (${address}) is not an address.`,
        'Name one such as http://collector:4318, or leave it out.',
      ),
    ];
  if (new URL(address).port === GRPC_PORT)
    return [
      warningFinding(
        `${setting} (${address}) names port ${GRPC_PORT}, the port of gRPC: traces are sent over HTTP, and would be lost.`,
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
