// needs: nothing
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { countTokens } from 'gpt-tokenizer';
import t from 'tap';
import { MCP_INSTRUCTIONS } from '../../../src/product/mcp/prompts.ts';
import { TOOLS } from '../../../src/product/mcp/protocol.ts';

const ROOT = join(import.meta.dirname, '../../..');
const MAX_INSTRUCTIONS_TOKENS = 300;
const MAX_LIST_TOKENS = 2_500;

/** The specifiers that a file loads when it is loaded. */
function loadedBy(file: string): string[] {
  const source = readFileSync(join(ROOT, file), 'utf8');
  const specifiers = source.matchAll(/^(?:import|export)\s(?!type\b)[^;]*?from\s*'([^']+)'/gm);
  return [...specifiers].map(([, specifier = '']) => specifier);
}

t.test('no start of the service loads the SDK of the protocol', async (t) => {
  const files = new Set(['src/host/app.ts']);
  const loading: string[] = [];
  for (const file of files) {
    for (const specifier of loadedBy(file)) {
      if (specifier.startsWith('@modelcontextprotocol/')) loading.push(`${file} loads ${specifier}`);
      if (specifier.endsWith('.ts')) files.add(normalize(join(dirname(file), specifier)));
    }
  }
  t.same(loading, []);
  t.ok(files.has('src/product/mcp/open.ts'), 'the walk reaches the route');
});

t.test('what every conversation begins with is short', async (t) => {
  const tools = TOOLS.map(({ definition }) => definition);
  const list = countTokens(JSON.stringify({ tools }));
  const instructions = countTokens(MCP_INSTRUCTIONS);
  t.comment(`${list} tokens of tools, ${instructions} of instructions`);
  t.ok(tools.length <= 9);
  t.ok(list <= MAX_LIST_TOKENS, `${list} tokens`);
  t.ok(instructions <= MAX_INSTRUCTIONS_TOKENS, `${instructions} tokens`);
  for (const { name, inputSchema, outputSchema } of tools) {
    t.ok(inputSchema.additionalProperties === false, `${name} refuses arguments that it does not know`);
    t.notOk('required' in outputSchema, `${name} may answer the error of the interface`);
  }
});
