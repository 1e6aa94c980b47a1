import {
  type DocumentationPage,
  headingBlock,
  listBlock,
  paragraphBlock,
  samplesBlock,
  shellSampleBlock,
} from '../../../platform/pages/page.ts';

export const agentsGuide: DocumentationPage = {
  title: 'Tools for agents',
  lead: 'The service speaks the Model Context Protocol (MCP): nine tools by task, over the same interface, key and limits.',
  blocks: [
    headingBlock('Connect a host'),
    paragraphBlock(
      'The address is `/mcp`, and the key is a header. Clients of the revisions 2025-11-25 and 2026-07-28 are served, without sessions. In VS Code:',
    ),
    samplesBlock({
      label: '.vscode/mcp.json',
      language: 'json',
      code: `{
  "inputs": [{ "id": "key", "type": "promptString", "description": "API key", "password": true }],
  "servers": {
    "darkroom": {
      "type": "http",
      "url": "https://darkroom.example.com/mcp",
      "headers": { "Authorization": "Bearer \${input:key}" }
    }
  }
}`,
    }),
    paragraphBlock(
      'A host that starts a process reads your files too, and uploads them by itself: `node src/host/darkroom.ts mcp` in the folder of the service, with `DARKROOM_URL` and `DARKROOM_KEY`.',
    ),
    headingBlock('What the tools are'),
    listBlock(
      '`run` does 1 to 12 steps, or several outputs, on one image: one call, one pass, one run. It answers facts and a link, and with `address` an `<img>` for web pages instead.',
      '`look` shows an image or a region of it, at most 512 px. No other tool answers pixels unless a preview is asked for.',
      '`ops` lists the ops and their parameters; `facts` measures and reads; `compare`, `render`, `job` and `presets` are the calls of these names.',
      '`ticket` makes an address for one upload, so that pictures never pass through the model.',
    ),
    paragraphBlock(
      'These guides are resources, which a person hands to the model where the host offers them, and the prompt `edit_picture` starts a task by its name.',
    ),
    shellSampleBlock(`curl --fail-with-body -H "Authorization: ApiKey $KEY" -H "Content-Type: application/json" \\
  -H "Accept: application/json, text/event-stream" \\
  -d '{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}' "$BASE/mcp"`),
    headingBlock('Upload by a ticket'),
    paragraphBlock('The address takes one image, within 15 minutes, from whoever has it: no key is sent.'),
    shellSampleBlock(`TICKET=$(curl --fail-with-body -X POST -H "Authorization: ApiKey $KEY" "$BASE/api/v1/upload-tickets")
curl --fail-with-body -F file=@photo.jpg "$(grep -o 'http[^"]*upload-tickets[^"]*' <<< "$TICKET")"`),
    headingBlock('Without MCP'),
    paragraphBlock(
      'An agent with a shell needs no tools: its skill is a file with the guidelines, and the key and the address come from its environment.',
    ),
    shellSampleBlock(
      `curl --fail-with-body --create-dirs -o .claude/skills/darkroom/SKILL.md "$BASE/docs/skill.md"`,
    ),
    headingBlock('When a tool fails'),
    paragraphBlock(
      'The answer is marked `isError` and has the error of the interface: `error.param` is the argument to fix, and `error.details` says what is allowed.',
    ),
  ],
};
