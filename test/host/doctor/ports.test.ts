// needs: nothing
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import t, { type Test } from 'tap';
import { readSettings } from '../../../config/index.ts';
import { testedRenderFinding } from '../../../src/host/doctor/browser.ts';
import { checkPorts, checkTelemetry, unreachableAddressFinding } from '../../../src/host/doctor/network.ts';
import { inodeFindings } from '../../../src/host/doctor/storage.ts';
import { serve } from '../../support/loopback.ts';
import { finds } from './finds.ts';

/** A port on which nothing listens, at least not now. */
async function freePort(): Promise<string> {
  const server = createTcpServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return String(port);
}

const portOf = (url: string) => new URL(url).port;

/** Answers as a Darkroom does on both of its ports. */
const darkroom = async (t: Test) => {
  const { url } = await serve(t, ({ headers, url: path }, response) => {
    response.setHeader('x-request-id', String(headers['x-request-id'] ?? ''));
    response.end(path === '/metrics' ? 'darkroom_build_info 1\n' : '{}');
  });
  return url;
};

t.test('a port is free, of a Darkroom, or taken by another program', async (t) => {
  const ours = portOf(await darkroom(t));
  const { url: page } = await serve(t, (_request, response) => response.end('<h1>It works</h1>'));
  const other = portOf(page);
  const portsOf = (settings: Record<string, string>) => checkPorts(readSettings(settings));
  t.match(await portsOf({ PORT: await freePort() }), [{ state: 'ok', message: /is free/ }]);
  t.match(await portsOf({ PORT: ours }), [{ state: 'ok', message: /A Darkroom listens on PORT/ }]);
  finds(
    t,
    await portsOf({ PORT: other }),
    'problem',
    /^PORT \(\d+\) is taken by another program/,
    /another port/,
  );
  const both = { PORT: await freePort(), METRICS_PORT: other };
  finds(t, await portsOf(both), 'problem', /^METRICS_PORT \(\d+\) is taken/, /another port/);
  t.match((await portsOf({ ...both, METRICS_PORT: ours }))[1], { state: 'ok', message: /METRICS_PORT/ });
  finds(t, await portsOf({ PORT: ours, HOST: '203.0.113.9' }), 'problem', /EADDRNOTAVAIL/, /HOST/);
});

t.test('a receiver of traces that is away, or speaks gRPC, is found', async (t) => {
  const url = await darkroom(t);
  t.match(await checkTelemetry({}), [{ state: 'ok', message: 'No traces are sent.' }]);
  t.match(await checkTelemetry({ OTEL_EXPORTER_OTLP_ENDPOINT: url }), [{ state: 'ok' }]);
  const dead = `http://127.0.0.1:${await freePort()}`;
  finds(
    t,
    await checkTelemetry({ OTEL_EXPORTER_OTLP_ENDPOINT: dead }),
    'warning',
    /ECONNREFUSED/,
    /receiver/,
  );
  const grpc = {
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector:4317',
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
  };
  finds(t, await checkTelemetry(grpc), 'warning', /^OTEL_EXPORTER_OTLP_TRACES_ENDPOINT .*gRPC/, /4318/);
  t.match(await checkTelemetry({ ...grpc, OTEL_SDK_DISABLED: 'true' }), [{ state: 'ok' }]);
});

t.test('an address that does not answer is a problem once a service has run on the stores', async (t) => {
  const url = 'https://pictures.test';
  finds(
    t,
    [unreachableAddressFinding(url, 'ECONNREFUSED', true)],
    'problem',
    /cannot be reached/,
    /certificate/,
  );
  finds(
    t,
    [unreachableAddressFinding(url, 'ECONNREFUSED', false)],
    'warning',
    /cannot be reached/,
    /first time/,
  );
});

t.test('inodes that run out are told apart from space', async (t) => {
  finds(
    t,
    inodeFindings(12_000, 0),
    'problem',
    /^No inode is free: DATA_DIR has 0 inodes free of 12000/,
    /inodes/,
  );
  finds(t, inodeFindings(1_000_000, 500), 'warning', /500 inodes free/, /inodes/);
  t.match(inodeFindings(1_000_000, 500_000), [{ state: 'ok' }]);
  t.same(inodeFindings(0, 0), [], 'a file system without a fixed number');
});

t.test('the reason that no page is drawn decides the advice', async (t) => {
  const drawn = { isSandboxed: true, milliseconds: 1 };
  const find = (reason: 'crash' | 'no_browser', message: string) => [
    testedRenderFinding({ ...drawn, failure: { reason, message } }),
  ];
  finds(t, find('no_browser', 'spawn /tmp/x EACCES'), 'problem', /EACCES/, /noexec.*TMPDIR/);
  finds(t, find('no_browser', 'ENOENT'), 'problem', /ENOENT/, /Install/);
  finds(t, find('crash', 'The process of the page died.'), 'problem', /died\./, /limits of open files/);
});
