/**
 * `npm run darkroom`: the command line of the client. In the folder of the service it also runs the tools for agents,
 * which need the service's packages.
 */
if (process.argv[2] === 'mcp') await import('./mcp.ts');
else await import('../client/cli/main.ts');

export {};
