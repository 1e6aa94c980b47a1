// needs: server
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import sharp from 'sharp';
import t, { type Test } from 'tap';
import { openTracing } from '../../src/platform/tracing/open.ts';
import { disabledTracing } from '../../src/platform/tracing/tracing.ts';
import { startServer } from '../support/harness.ts';
import { until } from '../support/whole-service.ts';

interface OtlpSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: Array<{ key: string; value: { stringValue?: string; intValue?: number } }>;
}

/** A receiver of OTLP over HTTP as the protocol describes it: JSON posted to /v1/traces. */
async function startReceiver(t: Test) {
  const spans: OtlpSpan[] = [];
  const server = createServer(async (request, response) => {
    const body = (await json(request)) as {
      resourceSpans: Array<{ scopeSpans: Array<{ spans: OtlpSpan[] }> }>;
    };
    spans.push(...body.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)));
    response.setHeader('content-type', 'application/json').end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans };
}

t.test('without a receiver nothing is traced and no library is loaded', async (t) => {
  t.equal(await openTracing({}), disabledTracing);
  t.equal(
    await openTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://x', OTEL_SDK_DISABLED: 'true' }),
    disabledTracing,
  );
});

t.test('a transform by URL is one whole trace below the span of its caller', async (t) => {
  const receiver = await startReceiver(t);
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = receiver.url;
  t.teardown(() => delete process.env.OTEL_EXPORTER_OTLP_ENDPOINT);
  const tracing = await openTracing(process.env);
  const picture = await sharp({ create: { width: 64, height: 48, channels: 3, background: '#c33' } })
    .png()
    .toBuffer();
  const source = createServer((_request, response) =>
    response.setHeader('content-type', 'image/png').end(picture),
  );
  await new Promise<void>((resolve) => source.listen(0, '127.0.0.1', resolve));
  t.teardown(() => source.close());
  const url = `http://127.0.0.1:${(source.address() as AddressInfo).port}/secret-path.png`;

  const settings = { OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' };
  const server = await startServer(t, { settings, tracing });
  const { key } = await server.account();
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const answer = await server.call('/images/transform?op=resize&width=32', {
    method: 'POST',
    key,
    json: { url },
    headers: { traceparent: `00-${traceId}-b7ad6b7169203331-01`, 'x-request-id': 'traced-call' },
  });
  t.equal(answer.status, 200);
  await tracing.close();

  const spans = receiver.spans.filter((span) => span.traceId === traceId);
  const root = spans.find(({ parentSpanId }) => parentSpanId === 'b7ad6b7169203331');
  t.equal(root?.name, 'POST /api/v1/images/transform');
  const facts = Object.fromEntries(
    (root?.attributes ?? []).map(({ key, value }) => [key, value.stringValue ?? value.intValue]),
  );
  t.match(facts, { 'darkroom.request_id': 'traced-call', 'http.response.status_code': 200 });
  const names = spans.map(({ name }) => name);
  for (const name of [
    'admit',
    'fetch',
    'fetch url',
    'queue',
    'decode',
    'process',
    'encode',
    'coordination admit',
  ])
    t.ok(names.includes(name), `${name} of ${names.join(', ')}`);
  const ids = new Set(spans.map(({ spanId }) => spanId));
  for (const { name, parentSpanId, startTimeUnixNano, endTimeUnixNano } of spans) {
    t.ok(
      parentSpanId === 'b7ad6b7169203331' || ids.has(parentSpanId ?? ''),
      `${name} has its parent in the trace`,
    );
    t.ok(BigInt(startTimeUnixNano) <= BigInt(endTimeUnixNano), `${name} does not end before it begins`);
  }
  const text = JSON.stringify(receiver.spans);
  t.notOk(text.includes('secret-path'), 'no address of a caller');
  t.notOk(text.includes(key), 'no credential');
});

t.test(
  'a job item with its model call, and the delivery that announces its job, are whole traces',
  async (t) => {
    const receiver = await startReceiver(t);
    process.env.OTEL_EXPORTER_OTLP_ENDPOINT = receiver.url;
    t.teardown(() => delete process.env.OTEL_EXPORTER_OTLP_ENDPOINT);
    const tracing = await openTracing(process.env);
    const arrived = Promise.withResolvers<string | undefined>();
    const target = createServer((request, response) => {
      arrived.resolve(request.headers.traceparent as string | undefined);
      response.end();
    });
    await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
    t.teardown(() => target.close());
    const settings = { OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8', OUTBOUND_ALLOW_HTTP: 'true' };
    const server = await startServer(t, { settings, tracing });
    const { key } = await server.account({ credits: 100 });
    const url = `http://127.0.0.1:${(target.address() as AddressInfo).port}/`;
    const endpoint = await server.call('/webhook-endpoints', { method: 'POST', key, json: { url } });
    t.equal(endpoint.status, 201);
    const steps = [
      { op: 'edit', prompt: 'a secret prompt' },
      { op: 'resize', parameters: { width: 16 } },
    ];
    const picture = await sharp({ create: { width: 64, height: 48, channels: 3, background: '#c33' } })
      .png()
      .toBuffer();
    const upload = { method: 'POST', key, type: 'image/png', body: new Uint8Array(picture) };
    const asset = await server.call('/assets/upload', upload);
    const json = { steps, assetIds: [asset.json.data.id] };
    const job = await server.call('/jobs?wait=60', { method: 'POST', key, json });
    t.equal(job.json.data.status, 'COMPLETED');
    const traceparent = await arrived.promise;
    // The span of a delivery ends before its record says so.
    const records = `/webhook-endpoints/${endpoint.json.data.id}/deliveries`;
    await until(async () =>
      (await server.call(records, { key })).json.data.some(
        ({ status }: { status: string }) => status === 'DELIVERED',
      ),
    );
    await tracing.close();

    const item = receiver.spans.find(({ name }) => name === 'job item');
    t.ok(item !== undefined && !item.parentSpanId, 'an item begins a trace');
    const names = receiver.spans.filter(({ traceId }) => traceId === item?.traceId).map(({ name }) => name);
    for (const name of ['provider', 'queue', 'process', 'objects put'])
      t.ok(names.includes(name), `${name} of ${names.join(', ')}`);
    const delivery = receiver.spans.find(({ name }) => name === 'delivery');
    t.equal(
      traceparent?.split('-')[1],
      delivery?.traceId,
      'the receiver is handed the trace of its delivery',
    );
    t.notOk(JSON.stringify(receiver.spans).includes('secret prompt'));
  },
);
