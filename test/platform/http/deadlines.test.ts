// needs: server, waits
import t from 'tap';
import { S3ObjectStore } from '../../../src/platform/stores/objects/s3.ts';
import { StoreTimeout, wrapDocuments, wrapMethods } from '../../../src/platform/stores/store-timeout.ts';
import { startServer, type TestServer } from '../../support/harness.ts';
import { redSquare } from '../../support/images.ts';
import { serveTcp } from '../outbound/listener.ts';

/** Deadlines of this server: of a store's step, and of a call that has one. */
const STORE_TIMEOUT_MS = 1_000;
const CALL_MS = 2_000;
/** An upload may wait so long for its url, or for the object store. */
const UPLOAD_MS = 20_000;
/** However many steps a call takes, and for a busy machine: a call that is still open then never ends by itself. */
const MORE_MS = 300_000;

const TEMPLATE = { name: 'T', html: '<p>', width: 10, height: 10 };
const PRESET = { name: 'P', steps: [{ op: 'grayscale' }] };
const JOB = { op: 'grayscale', assetIds: ['ast_0000000000000000'] };
const RENDER = { templateId: 'mine' };

/** Its DELETE revokes the key that calls: the last call of a walk. */
const OWN_KEY = '/api/v1/api-keys/self';

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
const timeout = (name: string) =>
  new StoreTimeout({ name, timeoutMs: STORE_TIMEOUT_MS, timeoutWhenSilentMs: STORE_TIMEOUT_MS / 10 });
const hangableDocuments = {
  ...documents,
  ping: () => hangable(documents, 'documents').ping(),
  collection: (spec: Parameters<typeof documents.collection>[0]) =>
    hangable(documents.collection(spec), 'documents'),
} as typeof documents;
const settings = {
  TRANSFORM_TIMEOUT_MS: String(CALL_MS),
  RENDER_TIMEOUT_MS: String(CALL_MS),
  OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8',
  REQUESTS_PER_MINUTE: '100000',
};
const server = await startServer(t, {
  settings,
  stores: {
    documents: wrapDocuments(hangableDocuments, timeout('documents').interceptorOf),
    coordination: wrapMethods(hangable(coordination, 'coordination'), timeout('coordination').interceptorOf),
    objects,
    close: async () => undefined,
  },
});
const silent = await serveTcp(t, () => undefined);

interface Operation {
  method: string;
  path: string;
  body: unknown;
}

interface Walk {
  at: TestServer;
  key: string;
  /** The deadline of calls that are not uploads. */
  deadlineMs: number;
  /** Bodies by path, in place of those of BODIES. */
  bodies?: Record<string, unknown>;
  /** What stands in a path for the names in it; `x` for others. */
  names?: Record<string, string>;
}

/** Every operation that the service documents, with words in place of the names in its path. */
async function operations({ bodies = {}, names = {} }: Partial<Walk> = {}): Promise<Operation[]> {
  const { paths } = (await server.call('//openapi.json')).json as {
    paths: Record<string, Record<string, unknown>>;
  };
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => {
      const text = JSON.stringify(bodies[path] ?? BODIES[path] ?? {}).replace(
        'HANGING',
        `${silent.url}/a.png`,
      );
      return {
        method: method.toUpperCase(),
        // What is deleted could not be read any more.
        path: path.replaceAll(/\{([^}]+)\}/g, (_, name) =>
          method === 'delete' ? 'x' : (names[name] ?? 'x'),
        ),
        body: method === 'get' || method === 'delete' ? undefined : JSON.parse(text),
      };
    }),
  );
}

/** Calls everything at once, and answers what was still open when it was given up. */
async function walk(walked: Walk): Promise<{ open: string[]; statuses: number[] }> {
  const open: string[] = [];
  const statuses: number[] = [];
  const call = async ({ method, path, body }: Operation) => {
    try {
      const response = await fetch(walked.at.url + path, {
        method,
        headers: { authorization: `ApiKey ${walked.key}`, 'content-type': 'application/json' },
        signal: AbortSignal.timeout(MORE_MS + (path.endsWith('/upload') ? UPLOAD_MS : walked.deadlineMs)),
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      await response.arrayBuffer();
      statuses.push(response.status);
    } catch (error) {
      open.push(`${method} ${path}: ${(error as Error).name}`);
    }
  };
  const all = await operations(walked);
  const revokes = ({ method, path }: Operation) => method === 'DELETE' && path === OWN_KEY;
  await Promise.all(all.filter((operation) => !revokes(operation)).map(call));
  await Promise.all(all.filter(revokes).map(call));
  return { open, statuses };
}

t.test('every route answers, whatever hangs behind it', async (t) => {
  const count = (await operations()).length;
  t.ok(count > 50, `${count} operations`);
  for (const hung of [null, 'documents', 'coordination'] as const) {
    const { key } = await server.account();
    // The credential is known then, so that calls reach what is behind the gate.
    t.equal((await server.call('/account', { key })).status, 200);
    hanging.documents = hung === 'documents';
    hanging.coordination = hung === 'coordination';
    const { open, statuses } = await walk({ at: server, key, deadlineMs: CALL_MS });
    t.same(open, [], `${hung ?? 'nothing'} hangs`);
    t.equal(statuses.length, count);
    if (hung !== null) t.ok(statuses.filter((status) => status === 500).length > 10, 'it was felt');
    hanging.documents = false;
    hanging.coordination = false;
  }
});

t.test('every route answers while the object store takes calls and says nothing', async (t) => {
  process.env.AWS_ACCESS_KEY_ID = 'any';
  process.env.AWS_SECRET_ACCESS_KEY = 'any';
  const hangingObjects = new S3ObjectStore({ bucket: 'b', region: 'us-east-1', endpoint: silent.url });
  t.teardown(() => hangingObjects.close());
  const at = await startServer(t, {
    settings,
    stores: { documents, coordination, objects: hangingObjects, close: async () => undefined },
  });
  const { key } = await healthy.account();
  const uploaded = await healthy.call('/assets/upload', {
    key,
    body: await redSquare(),
    type: 'image/png',
  });
  t.equal(uploaded.status, 201, JSON.stringify(uploaded.json));
  const assetId: string = uploaded.json.data.id;
  const bodies = {
    '/api/v1/images/metadata': { assetId },
    '/api/v1/images/transform': { op: 'grayscale', assetId },
    '/api/v1/jobs': { op: 'grayscale', assetIds: [assetId] },
  };
  const upload = at.call('/assets/upload', { key, body: await redSquare(), type: 'image/png' });
  const { open, statuses } = await walk({
    at,
    key,
    deadlineMs: UPLOAD_MS,
    bodies,
    names: { assetId },
  });
  t.same(open, []);
  t.ok(statuses.filter((status) => status >= 500).length >= 3, 'contents, metadata and transforms felt it');
  t.match(await upload, { status: 500, json: { error: { details: { reason: 'store_unavailable' } } } });
  const { status, json } = await at.call('//readyz');
  t.equal(status, 503);
  t.not(json.parts.objects, 'ok');
});
