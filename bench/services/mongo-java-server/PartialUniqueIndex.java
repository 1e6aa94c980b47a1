import de.bwaldvogel.mongo.MongoCollection;
import de.bwaldvogel.mongo.backend.IndexKey;
import de.bwaldvogel.mongo.backend.Missing;
import de.bwaldvogel.mongo.backend.Utils;
import de.bwaldvogel.mongo.backend.memory.index.MemoryUniqueIndex;
import de.bwaldvogel.mongo.bson.Document;
import java.util.List;
import java.util.Set;

/** A unique index of those documents alone that have certain fields. It guards writes; reads go past it. */
class PartialUniqueIndex extends MemoryUniqueIndex {
  /** Tells the collection that a document without a place in this index is no error. */
  private static final boolean SPARSE = true;

  private final Set<String> present;

  PartialUniqueIndex(String name, List<IndexKey> keys, Set<String> present) {
    super(name, keys, SPARSE);
    this.present = present;
  }

  private boolean holds(Document document) {
    return present.stream()
        .noneMatch(field -> Utils.getSubdocumentValue(document, field) instanceof Missing);
  }

  @Override
  public void checkAdd(Document document, MongoCollection<Integer> collection) {
    if (holds(document)) super.checkAdd(document, collection);
  }

  @Override
  public void add(Document document, Integer position, MongoCollection<Integer> collection) {
    if (holds(document)) super.add(document, position, collection);
  }

  @Override
  public Integer remove(Document document) {
    return holds(document) ? super.remove(document) : null;
  }

  @Override
  public void checkUpdate(Document before, Document after, MongoCollection<Integer> collection) {
    if (holds(before) && holds(after)) super.checkUpdate(before, after, collection);
    else checkAdd(after, collection);
  }

  @Override
  public void updateInPlace(
      Document before, Document after, Integer position, MongoCollection<Integer> collection) {
    if (holds(before) && holds(after)) {
      super.updateInPlace(before, after, position, collection);
    } else {
      remove(before);
      add(after, position, collection);
    }
  }

  @Override
  public boolean canHandle(Document query) {
    return false;
  }
}
