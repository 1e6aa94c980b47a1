import type { Collection, Documents } from '../stores/documents/port.ts';

/** What a job does to the count: `in` takes places for it, `out` gives back those that it left empty. */
interface Mark {
  jobId: string;
  way: 'in' | 'out';
  count: number;
  at: string;
}

/** The view that jobs have of an account's places; see places.ts for the document. */
interface JobPlacesDocument {
  _id: string;
  stored: number;
  marks?: Mark[];
}

/**
 * The places of outputs that jobs will make. A job takes them all before it may run, so that no output finds the plan
 * full, and gives back at its end those that it left empty. As with single assets, each step is marked until the job
 * document knows of it, so that a crash between the two neither loses a place nor gives it back twice:
 *
 *   in:  reserve (counts, marks `in`) · the job is shown, with its number of places · confirm (unmarks)
 *   out: announce (marks `out`) · the job notes that its places are returned · giveBack (uncounts, unmarks)
 */
export class JobPlaces {
  readonly #places: Collection<JobPlacesDocument>;
  readonly #now: () => Date;

  private constructor(places: Collection<JobPlacesDocument>, now: () => Date) {
    this.#places = places;
    this.#now = now;
  }

  static async open(documents: Documents, now: () => Date): Promise<JobPlaces> {
    return new JobPlaces(
      await documents.collection<JobPlacesDocument>({ name: 'assetPlaces', indexes: [] }),
      now,
    );
  }

  /** Takes places for a job's outputs, all or none; false when the plan has not so many left. */
  async reserve(accountId: string, jobId: string, count: number, limit: number): Promise<boolean> {
    if (count === 0) return true;
    const take = () =>
      this.#places.updateOne(
        { _id: accountId, stored: { $lte: limit - count }, 'marks.jobId': { $ne: jobId } },
        { $inc: { stored: count }, $push: { marks: this.#mark(jobId, 'in', count) } },
      );
    if ((await take()).modified === 1) return true;
    const begin = { $setOnInsert: { stored: 0, moving: [] } };
    const places = await this.#places.findOneAndUpdate({ _id: accountId }, begin, { upsert: true });
    if (marked(places, jobId) !== undefined) return true;
    return (await take()).modified === 1;
  }

  /** The job has noted its places. */
  async confirm(accountId: string, jobId: string): Promise<void> {
    await this.#places.updateOne({ _id: accountId }, { $pull: { marks: { jobId, way: 'in' } } });
  }

  /** Marks places that are about to be given back. */
  async announce(accountId: string, jobId: string, count: number): Promise<void> {
    await this.#places.updateOne(
      { _id: accountId, 'marks.jobId': { $ne: jobId } },
      { $push: { marks: this.#mark(jobId, 'out', count) } },
    );
  }

  /** Gives back the places that a mark of the job names; one without a mark has none to give. */
  async giveBack(accountId: string, jobId: string): Promise<void> {
    const mark = marked(await this.#places.findOne({ _id: accountId }, { fields: ['marks'] }), jobId);
    if (mark === undefined) return;
    await this.#places.updateOne(
      { _id: accountId, 'marks.jobId': jobId },
      { $inc: { stored: -mark.count }, $pull: { marks: { jobId } } },
    );
  }

  /** For the sweep: jobs of any account whose marks were made before an instant. */
  async leftOver(before: Date): Promise<Array<{ accountId: string; jobId: string }>> {
    const instant = before.toISOString();
    const places = await this.#places.find({ 'marks.at': { $lt: instant } });
    return places.flatMap(({ _id: accountId, marks = [] }) =>
      marks.filter(({ at }) => at < instant).map(({ jobId }) => ({ accountId, jobId })),
    );
  }

  #mark(jobId: string, way: Mark['way'], count: number): Mark {
    return { jobId, way, count, at: this.#now().toISOString() };
  }
}

function marked(places: JobPlacesDocument | null, jobId: string): Mark | undefined {
  return places?.marks?.find((mark) => mark.jobId === jobId);
}
