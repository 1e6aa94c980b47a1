import { documentsOverChannel } from '../../../../src/platform/stores/documents/remote.ts';
import { PrimaryChannel } from '../../../../src/platform/stores/embedded/channel.ts';

/** An API process of documents-cluster.test.ts: claims items until none is left, and reports which it got. */
const documents = documentsOverChannel(new PrimaryChannel());
const items = documents.collection<{ _id: string; status: string }>({
  name: 'items',
  indexes: [
    {
      name: 'queue',
      fields: [
        ['status', 1],
        ['_id', 1],
      ],
    },
  ],
});
const claimed: string[] = [];
await Promise.all(
  Array.from({ length: 8 }, async () => {
    const claim = () =>
      items.findOneAndUpdate({ status: 'QUEUED' }, { $set: { status: 'RUNNING' } }, { sort: [['_id', 1]] });
    for (let item = await claim(); item !== null; item = await claim()) claimed.push(item._id);
  }),
);
const refused = await items.insertOne({ _id: 'i0', status: 'NEW' }).catch((error) => ({
  name: error.constructor.name,
  index: error.index,
}));
process.send?.({ claimed, refused });
