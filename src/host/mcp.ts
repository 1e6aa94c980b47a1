import { serveTools } from '../product/mcp/stdio.ts';

/**
 * The tools for agents over standard input and output: a host such as an editor starts this process. The output carries
 * messages of the protocol alone.
 */
const { DARKROOM_URL = 'http://127.0.0.1:3000', DARKROOM_API_KEY = '' } = process.env;

if (DARKROOM_API_KEY === '') {
  console.error('DARKROOM_API_KEY is missing: set it to a key of the service at DARKROOM_URL.');
  process.exit(2);
}
serveTools({ url: DARKROOM_URL.replace(/\/+$/, ''), apiKey: DARKROOM_API_KEY });
