// needs: mongodb
import t from 'tap';
import { indexesOverChannel, provideIndexes } from '../../src/stores/documents/indexes-over-channel.ts';
import { connectMongoDocuments } from '../../src/stores/documents/mongodb.ts';
import type { CollectionSpec } from '../../src/stores/documents/port.ts';
import type { Channel, ChannelHost, ServiceHandler } from '../../src/stores/embedded/channel.ts';
import { dropDatabase, randomDatabase, startMongo } from '../services/mongodb.ts';

const SPECS: readonly CollectionSpec[] = [
  { name: 'accounts', indexes: [{ name: 'email', fields: [['email', 1]], unique: true }] },
  {
    name: 'jobs',
    indexes: [
      { name: 'account', fields: [['accountId', 1]] },
      { name: 'state', fields: [['state', 1]] },
    ],
  },
];

const mongo = await startMongo();

if (mongo === null) {
  t.pass('indexes of a host', { skip: 'there is no MongoDB' });
} else {
  t.teardown(() => mongo.stop());

  t.test('processes that start on an empty database leave the indexes to their primary', async (t) => {
    const url = randomDatabase(mongo.url);
    const primary = await connectMongoDocuments(url);
    const { host, channel } = wire();
    const asked: string[] = [];
    const state = { fails: true };
    provideIndexes(host, async (spec) => {
      asked.push(spec.name);
      if (state.fails) throw new Error('deadlock detected');
      await primary.createIndexes(spec);
    });
    const processes = await Promise.all(
      [1, 2].map(() => connectMongoDocuments(url, indexesOverChannel(channel))),
    );
    t.teardown(async () => {
      await Promise.all([primary, ...processes].map((documents) => documents.close()));
      await dropDatabase(url);
    });
    const start = () =>
      Promise.allSettled(processes.flatMap((documents) => SPECS.map((spec) => documents.collection(spec))));

    const failed = await start();
    t.same(
      asked.toSorted(),
      ['accounts', 'jobs'],
      'the primary is the one maker, for both processes at once',
    );
    t.ok(failed.every(({ status }) => status === 'rejected'));
    t.same(await primary.collections(), [], 'the processes make none themselves');

    asked.length = 0;
    state.fails = false;
    const started = await start();
    t.ok(started.every(({ status }) => status === 'fulfilled'));
    t.same(asked.toSorted(), ['accounts', 'jobs'], 'what failed is made once more, and once only');
    await start();
    t.equal(asked.length, 2, 'a process that is replaced finds them made');
    t.same(await primary.collections(), SPECS);
  });
}

/** The primary's end, and one that all processes may share: arguments cross as JSON. */
function wire(): { host: ChannelHost; channel: Channel } {
  const services = new Map<string, ServiceHandler>();
  const host: ChannelHost = {
    provide: (service, handler) => void services.set(service, handler),
    broadcast: () => 0,
  };
  const channel: Channel = {
    async call(service, method, args) {
      return services.get(service)?.(method, JSON.parse(JSON.stringify(args)), 1);
    },
    on: () => () => {},
  };
  return { host, channel };
}
