// needs: documents
import t from 'tap';
import { orderOf, performing, scripted } from '../../chaos/script.ts';
import { closeStores } from '../../chaos/stores.ts';
import { openWorld } from '../../chaos/world.ts';

t.teardown(closeStores);

const GRANTED = 40;
const BATCH = 20;
/** Items that a process has in hand of large jobs: two at work, six that are read or stored, and one of another job. */
const IN_HAND = 9;

t.test(
  'a small job finds a place though large jobs of two accounts keep all that they may have',
  async (t) => {
    const world = await openWorld();
    const [isFull, letGo, smallBegan] = [0, 1, 2].map(() => Promise.withResolvers<void>());
    const work = performing(world.now);
    let held = 0;
    const host = await world.start(
      null,
      scripted(async (call) => {
        if (call.job.totalItems === 1) smallBegan?.resolve();
        else {
          held += 1;
          if (held === IN_HAND) isFull?.resolve();
          await letGo?.promise;
        }
        return work(call);
      }),
    );
    const large = orderOf(Array.from({ length: BATCH }, () => 'done' as const));
    for (let account = 0; account < 2; account += 1)
      await host.lifecycle.submit(await world.account(GRANTED), large);
    await isFull?.promise;
    await host.lifecycle.submit(await world.account(GRANTED), orderOf(['done']));
    await smallBegan?.promise;
    t.equal(held, IN_HAND, 'nothing of the large jobs has ended');
    letGo?.resolve();
    await world.close();
  },
);
