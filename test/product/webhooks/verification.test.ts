// needs: server
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import t from 'tap';
import { startServer } from '../../support/harness.ts';
import { LOOPBACK, register, startReceiver } from './receiver.ts';

const NODE_INPUT = "const { headers, body, secret } = JSON.parse(process.env.DELIVERY ?? '');\n";
const PYTHON_INPUT = `import json, os
delivery = json.loads(os.environ["DELIVERY"])
headers, body, secret = delivery["headers"], delivery["body"].encode(), delivery["secret"]
`;
const HAS_PYTHON = spawnSync('python3', ['--version']).status === 0;

/** Runs a snippet in its own process: true when it takes the delivery as genuine. */
function accepts(language: string, snippet: string, delivery: object): boolean {
  const [command, ...flags] =
    language === 'js' ? [process.execPath, '--input-type=module', '-e'] : ['python3', '-c'];
  const text = (language === 'js' ? NODE_INPUT : PYTHON_INPUT) + snippet;
  const env = { PATH: process.env.PATH, DELIVERY: JSON.stringify(delivery) };
  return spawnSync(command ?? '', [...flags, text], { env }).status === 0;
}

t.test('the snippets of the description verify a real delivery, and refuse an altered one', async (t) => {
  const server = await startServer(t, { settings: LOOPBACK });
  const document = JSON.parse(await (await fetch(`${server.url}/openapi.json`)).text());
  const { description } = document.paths['/api/v1/webhook-endpoints'].post;
  const snippets = [...String(description).matchAll(/```(js|python)\n(.*?)```/gs)];
  t.same(
    snippets.map(([, language]) => language),
    ['js', 'js', 'python'],
  );

  const account = await server.account();
  const receiver = await startReceiver(t);
  const { id, secret } = await register(server, account, receiver.url);
  await server.call(`/webhook-endpoints/${id}/test`, { key: account.key, method: 'POST' });
  const [received] = await receiver.until(1);
  const delivery = { headers: received?.headers, body: received?.body ?? '', secret };
  const otherSecret = `whsec_${randomBytes(32).toString('base64')}`;
  for (const [, language = '', snippet = ''] of snippets) {
    if (language === 'python' && !HAS_PYTHON) {
      t.comment('SKIPPED: python3 is missing, so the Python snippet was not run');
      t.pass('python3 is missing', { skip: true });
      continue;
    }
    t.equal(accepts(language, snippet, delivery), true, snippet);
    t.equal(accepts(language, snippet, { ...delivery, body: `${delivery.body} ` }), false, 'an altered body');
    t.equal(accepts(language, snippet, { ...delivery, secret: otherSecret }), false, 'another secret');
  }
});
