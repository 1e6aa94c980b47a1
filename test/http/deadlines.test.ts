// needs: server
import t from 'tap';
import { patientCoordination } from '../../src/stores/coordination/patient.ts';
import { patientDocuments } from '../../src/stores/documents/patient.ts';
import { createPatience } from '../../src/stores/patience.ts';
import { startServer } from '../harness.ts';
import { serveTcp } from '../outbound/listener.ts';

/** Deadlines of this server: of a store's step, and of a call that has one. */
const PATIENCE_MS = 1_000;
const CALL_MS = 2_000;
/** However many steps a call takes. A call that is still open then never ends by itself. */
const GIVEN_UP_MS = CALL_MS + 5_000 + 10_000;

const TEMPLATE = { name: 'T', html: '<p>', width: 10, height: 10 };
const PRESET = { name: 'P', steps: [{ op: 'grayscale' }] };
const JOB = { op: 'grayscale', assetIds: ['ast_0000000000000000'] };
const RENDER = { templateId: 'mine' };

/** What reaches a handler, by path; other calls get `{}`, which most of them refuse. */
const BODIES: Record<string, unknown> = {
  '/api/v1/assets': { contentType: 'image/png' },
  '/api/v1/assets/upload': { url: 'HANGING' },
  '/api/v1/auth/sign-in': { email: 'nobody@example.test', password: 'not a password' },
  '/api/v1/collections': { name: 'c' },
  '/api/v1/feedback': { kind: 'other', message: 'm' },
  '/api/v1/images/metadata': { url: 'HANGING' },
  '/api/v1/images/render': RENDER,
  '/api/v1/images/transform': { op: 'grayscale', url: 'HANGING' },
  '/api/v1/jobs': JOB,
  '/api/v1/presets': PRESET,
  '/api/v1/presets/import': { presets: [PRESET] },
  '/api/v1/templates': TEMPLATE,
  '/api/v1/templates/import': { templates: [TEMPLATE] },
};

/** Whether the stores answer; nothing is lost meanwhile, it is only never said. */
const hanging = { documents: false, coordination: false };

function hangable<T extends object>(store: T, name: keyof typeof hanging): T {
  return new Proxy(store, {
    get(target, property) {
      const method: unknown = Reflect.get(target, property);
      if (typeof method !== 'function') return method;
      return (...args: unknown[]) =>
        hanging[name] ? new Promise(() => undefined) : (method.apply(target, args) as unknown);
    },
  });
}

const healthy = await startServer(t);
const { documents, coordination, objects } = healthy.stores;
const patience = (name: string) =>
  createPatience({ name, longestMs: PATIENCE_MS, silentMs: PATIENCE_MS / 10 });
const hangableDocuments = {
  ...documents,
  ping: () => hangable(documents, 'documents').ping(),
  collection: async (spec: Parameters<typeof documents.collection>[0]) =>
    hangable(await documents.collection(spec), 'documents'),
} as typeof documents;
const server = await startServer(t, {
  settings: {
    TRANSFORM_TIMEOUT_MS: String(CALL_MS),
    RENDER_TIMEOUT_MS: String(CALL_MS),
    OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8',
    REQUESTS_PER_MINUTE: '100000',
  },
  stores: {
    documents: patientDocuments(hangableDocuments, patience('documents')),
    coordination: patientCoordination(hangable(coordination, 'coordination'), patience('coordination')),
    objects,
    close: async () => undefined,
  },
});
const { key } = await server.account();
const silent = await serveTcp(t, () => undefined);

/** Every operation that the service documents, with words in place of the names in its path. */
async function operations(): Promise<Array<{ method: string; path: string; body: unknown }>> {
  const { paths } = (await server.call('//openapi.json')).json as {
    paths: Record<string, Record<string, unknown>>;
  };
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => {
      const text = JSON.stringify(BODIES[path] ?? {}).replace('HANGING', `${silent.url}/a.png`);
      return {
        method: method.toUpperCase(),
        path: path.replaceAll(/\{[^}]+\}/g, 'x'),
        body: method === 'get' || method === 'delete' ? undefined : JSON.parse(text),
      };
    }),
  );
}

/** Calls everything at once, and answers what was still open when it was given up. */
async function walk(): Promise<{ open: string[]; statuses: number[] }> {
  const open: string[] = [];
  const statuses: number[] = [];
  const calls = (await operations()).map(async ({ method, path, body }) => {
    try {
      const response = await fetch(server.url + path, {
        method,
        headers: { authorization: `ApiKey ${key}`, 'content-type': 'application/json' },
        signal: AbortSignal.timeout(GIVEN_UP_MS),
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      await response.arrayBuffer();
      statuses.push(response.status);
    } catch (error) {
      open.push(`${method} ${path}: ${(error as Error).name}`);
    }
  });
  await Promise.all(calls);
  return { open, statuses };
}

t.test('every route answers, whatever hangs behind it', { timeout: 120_000 }, async (t) => {
  t.equal((await server.call('/account', { key })).status, 200);
  const count = (await operations()).length;
  t.ok(count > 50, `${count} operations`);
  for (const hung of [null, 'documents', 'coordination'] as const) {
    // The credential is known by now, so that calls reach what is behind the gate.
    hanging.documents = hung === 'documents';
    hanging.coordination = hung === 'coordination';
    const { open, statuses } = await walk();
    t.same(open, [], `${hung ?? 'nothing'} hangs`);
    t.equal(statuses.length, count);
    if (hung !== null) t.ok(statuses.filter((status) => status === 500).length > 10, 'it was felt');
  }
  hanging.documents = false;
  hanging.coordination = false;
});
