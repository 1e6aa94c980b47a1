// needs: server
import type { ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import sharp from 'sharp';
import t, { type Test } from 'tap';
import { startServer } from '../../support/harness.ts';
import { type Received, standIn } from '../providers/stand-in.ts';
import { ended, submit } from './jobs.ts';

const png = await sharp({ create: { width: 8, height: 4, channels: 3, background: 'red' } })
  .png()
  .toBuffer();
const generate = { op: 'generate', model: 'gpt-image-1', parameters: { quality: 'low' } };

/** A server whose provider has four slots, and answers a prompt that says slow when it is let go on. */
async function withSlowProvider(t: Test) {
  const provider = await standIn(t);
  const server = await startServer(t, {
    settings: { OPENAI_API_KEY: 'sk-test', OPENAI_BASE_URL: provider.url, PROVIDER_CONCURRENCY: '4' },
  });
  const open: ServerResponse[] = [];
  const answer = (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ data: [{ b64_json: png.toString('base64') }] }));
  };
  provider.behave(({ body }: Received, response) => {
    if (String(body).includes('slow')) open.push(response);
    else answer(response);
  });
  return {
    server,
    open,
    letOneGoOn: () => open.splice(0, 1).forEach(answer),
    /** Polls until so many slow calls are open. */
    async opened(count: number) {
      while (open.length < count) await pause(5);
    },
  };
}

t.test(
  'an account that is alone has all slots at a provider but one, which another one finds at once',
  async (t) => {
    const { server, open, opened, letOneGoOn } = await withSlowProvider(t);
    const large = await server.account({ credits: 1_000 });
    const small = await server.account({ credits: 100 });
    const slow = await submit(server, large.key, { ...generate, prompt: 'slow', count: 10 });
    await opened(3);
    const quick = await submit(server, small.key, { ...generate, prompt: 'quick', count: 3 });
    t.match(await ended(server, small.key, quick.json.data.id), { status: 'COMPLETED' });
    t.equal(open.length, 3, 'no slow call had to end for it');
    letOneGoOn();
    const more = await submit(server, small.key, { ...generate, prompt: 'quick', wait: 30 });
    t.match(more.json.data, { status: 'COMPLETED' }, 'one that comes again finds a slot');
    t.equal(open.length, 2);
    for (let left = 9; left > 0; left -= 1) {
      await opened(1);
      letOneGoOn();
    }
    t.match(await ended(server, large.key, slow.json.data.id), { status: 'COMPLETED', completedItems: 10 });
  },
);
