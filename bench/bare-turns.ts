import Fastify from 'fastify';
import { watchTurns } from './turn-meter.ts';

/**
 * A bare Fastify server as a reference: the turns of its event loop are long only when the machine is busy. It sends
 * its URL over IPC and, whenever it is asked, its longest turn since the last question.
 */
const app = Fastify();
app.get('/', async () => ({ status: 'ok' }));
const longestTurn = watchTurns();
process.on('message', () => process.send?.(longestTurn()));
process.send?.(await app.listen({ host: '127.0.0.1', port: 0 }));
