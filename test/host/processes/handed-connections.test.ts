// needs: nothing
import t from 'tap';
import { untestedNodeWarning } from '../../../src/host/processes/handed-connections.ts';

t.test(
  'the release of Node is one whose cluster messages were tried; another one is named loudly',
  async (t) => {
    t.equal(untestedNodeWarning('24.21.0'), null);
    t.match(untestedNodeWarning('26.0.0'), /Node 26\.0\.0 .* may hang/);
    t.equal(
      untestedNodeWarning(),
      null,
      'a new release: try lifecycle.test.ts on it, then name it as the known one',
    );
  },
);
