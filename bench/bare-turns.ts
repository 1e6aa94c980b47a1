import Fastify from 'fastify';
import { watchTurns } from './turn-meter.ts';

/**
 * Bare Fastify, whose event loop is watched beside that of the service: its turns are long only when the machine is
 * busy. It sends its URL over IPC, and its longest turn since the last one whenever it is asked.
 */
const app = Fastify();
app.get('/', async () => ({ status: 'ok' }));
const longestTurn = watchTurns();
process.on('message', () => process.send?.(longestTurn()));
process.send?.(await app.listen({ host: '127.0.0.1', port: 0 }));
