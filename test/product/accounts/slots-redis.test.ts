// needs: redis
import { EventEmitter } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import t from 'tap';
import { startRedis } from '../../../bench/services/redis.ts';
import { randomText } from '../../../src/platform/ids/ids.ts';
import { RedisCoordination } from '../../../src/platform/stores/coordination/redis.ts';
import { StoreUnavailableError } from '../../../src/platform/stores/documents/port.ts';
import { CallSlots } from '../../../src/product/accounts/gate/slots.ts';
import { startProxy } from '../../support/services/proxy.ts';

const redis = await startRedis();

if (redis === null) {
  t.pass('slots on Redis', { skip: 'there is no Redis' });
} else {
  t.teardown(() => redis.stop());

  t.test('a slot that Redis was away to take back is free soon after it is back', async (t) => {
    const keyPrefix = `slots-${randomText(8)}:`;
    const proxy = await startProxy(Number(new URL(redis.url).port));
    const url = `redis://127.0.0.1:${proxy.port}`;
    const behindProxy = new RedisCoordination({ url, keyPrefix, deadlineMs: 1_000 });
    const direct = new RedisCoordination({ url: redis.url, keyPrefix, deadlineMs: 20_000 });
    t.teardown(async () => {
      await Promise.all([behindProxy.close(), direct.close()]);
      await proxy.stop();
    });
    const slots = new CallSlots(behindProxy, 'host/1');
    const elsewhere = new CallSlots(direct, 'host/2');
    const isFree = async () => (await elsewhere.admit({}, elsewhere.reuseOrCreateSlot('calls/a', 1))).slot;

    const slot = slots.reuseOrCreateSlot('calls/a', 1);
    t.match(await slots.admit({}, slot), { slot: true });
    const raw = Object.assign(new EventEmitter(), { destroyed: false });
    slots.hold({} as FastifyRequest, { raw } as unknown as FastifyReply, slot);

    await proxy.cut();
    raw.emit('close');
    await t.rejects(slots.admit({}), StoreUnavailableError, 'Redis is away when the slot comes back');
    t.notOk(await isFree(), 'so it is still taken');

    await proxy.restore();
    // Its lease would give it back after two minutes: it is looked for during half a minute only.
    let free = false;
    for (let look = 0; look < 300 && !free; look += 1) {
      free = await isFree();
      if (!free) await pause(100);
    }
    t.ok(free);
  });
}
