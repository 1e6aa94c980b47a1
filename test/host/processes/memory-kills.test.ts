// needs: nothing
import t from 'tap';
import { deathSentence, MemoryKillDetector } from '../../../src/host/processes/memory-kills.ts';

t.test('a kill by the kernel within the last seconds is the reason of a death by SIGKILL', async (t) => {
  let kills = 5;
  let passTime: () => void = () => undefined;
  const after = (_delayMs: number, callback: () => void) => {
    passTime = callback;
    return () => undefined;
  };
  const memoryKills = new MemoryKillDetector({ after }, () => kills);
  t.equal(memoryKills.deathReason('SIGKILL'), 'signal');
  kills = 6;
  t.equal(memoryKills.deathReason('SIGKILL'), 'memory');
  t.equal(memoryKills.deathReason('SIGSEGV'), 'signal');
  t.equal(memoryKills.deathReason(null), 'exit');
  passTime();
  t.equal(memoryKills.deathReason('SIGKILL'), 'signal', 'an older one is not');
  t.match(deathSentence('memory'), /memory ran out\. Give the service more memory/);
});
