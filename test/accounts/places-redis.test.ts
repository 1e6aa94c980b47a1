// needs: redis
import { EventEmitter } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import t from 'tap';
import { createPlaces } from '../../src/accounts/gate/places.ts';
import { randomText } from '../../src/names/ids.ts';
import { RedisCoordination } from '../../src/stores/coordination/redis.ts';
import { StoreUnavailableError } from '../../src/stores/documents/port.ts';
import { startProxy } from '../services/proxy.ts';
import { startRedis } from '../services/redis.ts';

const redis = await startRedis();

if (redis === null) {
  t.pass('places on Redis', { skip: 'there is no Redis' });
} else {
  t.teardown(() => redis.stop());

  t.test('a place that Redis was away to take back is free soon after it is back', async (t) => {
    const keyPrefix = `places-${randomText(8)}:`;
    const proxy = await startProxy(Number(new URL(redis.url).port));
    const url = `redis://127.0.0.1:${proxy.port}`;
    const behindProxy = new RedisCoordination({ url, keyPrefix, deadlineMs: 1_000 });
    const direct = new RedisCoordination({ url: redis.url, keyPrefix, deadlineMs: 20_000 });
    t.teardown(async () => {
      await Promise.all([behindProxy.close(), direct.close()]);
      await proxy.stop();
    });
    const places = createPlaces(behindProxy, 'host/1');
    const elsewhere = createPlaces(direct, 'host/2');
    const isFree = async () => (await elsewhere.ask({}, elsewhere.placeFor('calls/a', 1))).place;

    const place = places.placeFor('calls/a', 1);
    t.match(await places.ask({}, place), { place: true });
    const raw = Object.assign(new EventEmitter(), { destroyed: false });
    places.hold({} as FastifyRequest, { raw } as unknown as FastifyReply, place);

    await proxy.cut();
    raw.emit('close');
    await t.rejects(places.ask({}), StoreUnavailableError, 'Redis is away when the place comes back');
    t.notOk(await isFree(), 'so it is still taken');

    await proxy.mend();
    // Its lease would give it back after two minutes: it is looked for during half a minute only.
    let free = false;
    for (let look = 0; look < 300 && !free; look += 1) {
      free = await isFree();
      if (!free) await pause(100);
    }
    t.ok(free);
  });
}
