import de.bwaldvogel.mongo.backend.CursorRegistry;
import de.bwaldvogel.mongo.backend.Index;
import de.bwaldvogel.mongo.backend.IndexKey;
import de.bwaldvogel.mongo.backend.memory.MemoryDatabase;
import de.bwaldvogel.mongo.bson.Document;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The library takes a partialFilterExpression and forgets it. Here it is kept, where it asks that fields be present. */
class DatabaseWithPartialIndexes extends MemoryDatabase {
  /** The fields that each partial index asks for, by collection and name. */
  private Map<String, Set<String>> presences;

  DatabaseWithPartialIndexes(String name, CursorRegistry cursors) {
    super(name, cursors);
  }

  @Override
  protected void addIndex(Document description) {
    if (description.get("partialFilterExpression") instanceof Document filter) {
      String namespace = description.get("ns").toString();
      String collection = namespace.substring(namespace.indexOf('.') + 1);
      presences().put(collection + "." + description.get("name"), filter.keySet());
    }
    super.addIndex(description);
  }

  @Override
  protected Index<Integer> openOrCreateUniqueIndex(
      String collection, String name, List<IndexKey> keys, boolean sparse) {
    Set<String> present = presences().get(collection + "." + name);
    return present == null
        ? super.openOrCreateUniqueIndex(collection, name, keys, sparse)
        : new PartialUniqueIndex(name, keys, present);
  }

  /** Made when first needed: the constructor of the library's class adds indexes before this one's fields are there. */
  private synchronized Map<String, Set<String>> presences() {
    if (presences == null) presences = new ConcurrentHashMap<>();
    return presences;
  }
}
