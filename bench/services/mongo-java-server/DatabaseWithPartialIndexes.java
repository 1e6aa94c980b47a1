import de.bwaldvogel.mongo.MongoCollection;
import de.bwaldvogel.mongo.backend.CursorRegistry;
import de.bwaldvogel.mongo.backend.Index;
import de.bwaldvogel.mongo.backend.IndexKey;
import de.bwaldvogel.mongo.backend.memory.MemoryDatabase;
import de.bwaldvogel.mongo.bson.Document;
import de.bwaldvogel.mongo.exception.MongoServerError;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The library takes a partialFilterExpression and forgets it, and lets two indexes have one name. Here the one is kept,
 * where it asks that fields be present, and the other is the conflict that it is in MongoDB.
 */
class DatabaseWithPartialIndexes extends MemoryDatabase {
  /** What declared each index, by collection and name. */
  private Map<String, Document> declared;

  DatabaseWithPartialIndexes(String name, CursorRegistry cursors) {
    super(name, cursors);
  }

  @Override
  protected void addIndex(Document description) {
    String namespace = description.get("ns").toString();
    String collection = namespace.substring(namespace.indexOf('.') + 1);
    Document before = declared().putIfAbsent(collection + "." + description.get("name"), description);
    if (before == null) {
      super.addIndex(description);
    } else if (!law(before).equals(law(description))) {
      throw new MongoServerError(86, "IndexKeySpecsConflict", "An existing index has the same name");
    }
  }

  private static String law(Document description) {
    return Stream.of("key", "unique", "partialFilterExpression")
        .map(option -> String.valueOf(description.get(option)))
        .collect(Collectors.joining());
  }

  @Override
  protected Index<Integer> openOrCreateUniqueIndex(
      String collection, String name, List<IndexKey> keys, boolean sparse) {
    Document description = declared().get(collection + "." + name);
    return description != null && description.get("partialFilterExpression") instanceof Document filter
        ? new PartialUniqueIndex(name, keys, filter.keySet())
        : super.openOrCreateUniqueIndex(collection, name, keys, sparse);
  }

  @Override
  protected void dropIndex(MongoCollection<Integer> collection, String name) {
    declared().remove(collection.getCollectionName() + "." + name);
    super.dropIndex(collection, name);
  }

  /** Made when first needed: the constructor of the library's class adds indexes before this one's fields are there. */
  private synchronized Map<String, Document> declared() {
    if (declared == null) declared = new ConcurrentHashMap<>();
    return declared;
  }
}
