// needs: server
import { countTokens } from 'gpt-tokenizer';
import sharp from 'sharp';
import t from 'tap';
import { OP_NAMES } from '../../../src/product/catalogue/index.ts';
import { sharedServer } from '../../support/harness.ts';
import { type Answered, call, connectedTo, photo, REVISIONS } from './client.ts';

const MAX_CALLS = 8;
const MAX_TOKENS = 5_000;
const MAX_TABLE_TOKENS = 250;
/** What a model pays for a picture: its pixels by this number. */
const PIXELS_A_TOKEN = 750;

const server = await sharedServer();
const { key } = await server.account();

/** The tokens that a model writes and reads of a call: a host shows either the text or the data of an answer. */
function tokensOf(name: string, args: object, { text, data, pictures }: Answered): number {
  const shown = pictures.length === 0 ? 0 : Math.ceil((data.width * data.height) / PIXELS_A_TOKEN);
  return countTokens(JSON.stringify({ name, arguments: args })) + countTokens(text) + shown;
}

for (const revision of REVISIONS) {
  t.test(
    `a task of 12 steps takes at most ${MAX_CALLS} calls and ${MAX_TOKENS} tokens (${revision})`,
    async (t) => {
      const client = await connectedTo(t, server.url, key, revision);
      const { tools } = await client.listTools();
      let tokens = countTokens(JSON.stringify({ tools })) + countTokens(client.getInstructions() ?? '');
      let calls = 0;
      const ask = async (name: string, args: Record<string, unknown> = {}) => {
        const answer = await call(client, name, args);
        calls += 1;
        const spent = tokensOf(name, args, answer);
        t.comment(`${name}: ${spent} tokens`);
        tokens += spent;
        t.notOk(answer.isError, answer.text);
        return answer.data;
      };

      const ticket = await ask('ticket', { name: 'photo.jpg' });
      const sent = await fetch(ticket.url, { method: 'POST', body: await photo(1_600, 1_200) });
      t.equal(sent.status, 200);
      await ask('look', { input: ticket.asset });
      await ask('ops');
      await ask('ops', { name: 'text' });
      const steps = [
        { op: 'crop', parameters: { aspect: '16:9', gravity: 'attention' } },
        { op: 'resize', parameters: { width: 800 } },
        { op: 'normalize', parameters: { lower: 1, upper: 99 } },
        { op: 'adjust', parameters: { brightness: 1.05, saturation: 1.1 } },
        { op: 'median', parameters: { size: 3 } },
        { op: 'sharpen', parameters: { sigma: 1 } },
        { op: 'tint', parameters: { color: '#ffeecc' } },
        { op: 'redact', parameters: { regions: [{ x: 10, y: 10, width: 80, height: 40 }], style: 'fill' } },
        { op: 'text', parameters: { text: '© Example', position: 'southeast', size: 24, opacity: 0.7 } },
        { op: 'border', parameters: { width: 8, color: '#ffffff' } },
        { op: 'round_corners', parameters: { radius: 24 } },
        { op: 'convert', parameters: { format: 'webp', quality: 82 } },
      ];
      const made = await ask('run', { input: ticket.asset, steps, save: true });
      await ask('look', { input: made.asset });
      const check = await ask('facts', { input: made.asset });
      t.match(check.image, { format: 'webp', width: made.width, hasAlpha: true });
      const preset = await ask('presets', { action: 'save', name: `House style ${revision}`, steps });
      t.equal(preset.version, 1);
      const file = Buffer.from(await (await fetch(made.link)).arrayBuffer());
      t.same((await sharp(file).metadata()).format, 'webp');

      t.comment(`${calls} calls, ${tokens} tokens`);
      t.equal(calls, MAX_CALLS);
      t.ok(tokens <= MAX_TOKENS, `${tokens} tokens`);
    },
  );
}

t.test('the parameters of every op are told in few tokens, each with its type', async (t) => {
  const client = await connectedTo(t, server.url, key);
  const list = await call(client, 'ops');
  t.comment(`${countTokens(list.text)} tokens for the list of ops`);
  for (const name of OP_NAMES) {
    if (name !== 'read_metadata') t.match(list.text, new RegExp(`^${name}: \\w`, 'm'), name);
    const { text } = await call(client, 'ops', { name });
    const tokens = countTokens(text);
    t.ok(tokens < MAX_TABLE_TOKENS, `${name}: ${tokens} tokens`);
    const { params } = (await server.call(`/ops/${name}`)).json.data;
    for (const parameter of Object.keys(params)) t.match(text, new RegExp(`\\b${parameter}\\b`), name);
  }
});
