import { DatabaseSync } from 'node:sqlite';
import { workerData } from 'node:worker_threads';

const { from, to } = workerData as { from: string; to: string };
const database = new DatabaseSync(from, { readOnly: true });
database.prepare('VACUUM INTO ?').run(to);
database.close();
