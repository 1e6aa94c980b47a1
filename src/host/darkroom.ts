/**
 * `npm run darkroom`: the command line of the client. In the folder of the service it also runs the tools for agents,
 * which need the service's packages.
 */
if (process.argv[2] === 'mcp') await serveTools();
else await import('../client/cli/main.ts');

/**
 * Serves the tools for agents over standard input and output. A host such as an editor starts this process. The output
 * carries protocol messages only. The service and the key are those of the command line: DARKROOM_URL and DARKROOM_KEY,
 * or those that `darkroom config` has stored.
 */
async function serveTools(): Promise<void> {
  const { readConfiguration } = await import('../client/cli/configuration.ts');
  const { serveToolsOverStdio } = await import('../product/mcp/stdio.ts');
  const { DARKROOM_URL, DARKROOM_KEY } = process.env;
  try {
    const { url = 'http://127.0.0.1:3000', key = '' } = await readConfiguration(process.env);
    const apiKey = DARKROOM_KEY || key;
    if (apiKey === '')
      throw new Error('A key is missing: set DARKROOM_KEY, or call darkroom config set key.');
    serveToolsOverStdio({ url: (DARKROOM_URL || url).replace(/\/+$/, ''), apiKey });
  } catch (error) {
    console.error((error as Error).message);
    process.exitCode = 2;
  }
}

export {};
