import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import de.bwaldvogel.mongo.backend.memory.MemoryDatabase;
import java.util.List;

/** A MongoDB server in memory on a free port of the loopback. Prints its URL, and ends when its input does. */
class MongoServer {
  /** The library speaks up to wire version 8 by its own word; drivers of today ask for 9, and what they use it has. */
  static final MongoVersion VERSION =
      new MongoVersion() {
        public List<Integer> getVersionArray() {
          return List.of(5, 0, 0);
        }

        public int getWireVersion() {
          return 13;
        }
      };

  static final MemoryBackend BACKEND =
      new MemoryBackend() {
        @Override
        public MemoryDatabase openOrCreateDatabase(String name) {
          return new DatabaseWithPartialIndexes(name, getCursorRegistry());
        }
      };

  public static void main(String[] arguments) throws Exception {
    var server = new de.bwaldvogel.mongo.MongoServer(BACKEND.version(VERSION));
    server.bind("127.0.0.1", 0);
    System.out.println("mongodb://127.0.0.1:" + server.getLocalAddress().getPort());
    while (System.in.read() != -1) {}
    server.shutdownNow();
  }
}
