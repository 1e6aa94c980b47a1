// needs: server
import t from 'tap';
import { GUIDE_PAGES } from '../../../src/product/reference/guides/index.ts';
import { sharedServer } from '../../support/harness.ts';
import { connectedTo, REVISIONS } from './client.ts';

const server = await sharedServer();
const { key } = await server.account();
const textIn = ({ contents: [page] }: { contents: object[] }) => String((page as { text?: string }).text);

for (const revision of REVISIONS)
  t.test(`a client of ${revision} lists and reads every page, and starts a task by its name`, async (t) => {
    const client = await connectedTo(t, server.url, key, revision);
    const { resources } = await client.listResources();
    t.same(
      resources.map(({ name }) => name),
      ['guidelines', 'errors', ...Object.keys(GUIDE_PAGES)],
    );
    for (const { uri, name, title, mimeType } of resources) {
      t.match([title, mimeType], [/\S/, 'text/markdown'], name);
      t.match(textIn(await client.readResource({ uri })), /^# \S/, uri);
    }
    const { resourceTemplates } = await client.listResourceTemplates();
    const [template] = resourceTemplates;
    const uri = template?.uriTemplate.replace('{op}', 'resize') ?? '';
    t.match(textIn(await client.readResource({ uri })), /^# resize/);
    const wrong = ['ops/rezise.md', '../api/v1/assets', 'ops/resize.md?a', 'ops/%2e%2e.md', ''];
    for (const path of wrong)
      await t.rejects(client.readResource({ uri: `darkroom:///docs/${path}` }), { code: -32_602 }, path);
    await t.rejects(client.readResource({ uri: 'file:///etc/passwd' }), { code: -32_602 });

    const { prompts } = await client.listPrompts();
    t.match(prompts, [{ name: 'edit_picture', arguments: [{ name: 'picture' }, { name: 'wish' }] }]);
    const given = { picture: 'ast_1', wish: 'Make it square.' };
    const { messages } = await client.getPrompt({ name: 'edit_picture', arguments: given });
    t.match(messages, [
      { role: 'user', content: { type: 'text', text: /picture ast_1 .*: Make it square\./ } },
    ]);
    const lacking = { name: 'edit_picture', arguments: { picture: 'ast_1' } };
    await t.rejects(client.getPrompt(lacking), { code: -32_602, message: /wish is missing/ });
    await t.rejects(client.getPrompt({ name: 'rm' }), { code: -32_602, message: /no prompt "rm"/ });
  });
