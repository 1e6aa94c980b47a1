/**
 * `npm run darkroom`: the command line of the client, and in the folder of the service the tools for agents as well,
 * which need the packages of the service.
 */
if (process.argv[2] === 'mcp') await import('./mcp.ts');
else await import('../client/cli/main.ts');

export {};
