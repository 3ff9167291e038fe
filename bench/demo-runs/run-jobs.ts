/** Runs jobs, a few at a time; results in the order of the jobs. Starts no further one once `stop` is aborted. */
export async function runJobs<T>(given: {
  readonly jobs: readonly (() => Promise<T>)[];
  readonly atOnce: number;
  readonly stop: AbortSignal;
  readonly onDone: (result: T) => void;
}): Promise<readonly T[]> {
  const { jobs, atOnce, stop, onDone } = given;
  const results: T[] = [];
  let next = 0;
  const worker = async () => {
    while (next < jobs.length && !stop.aborted) {
      const i = next++;
      const result = await (jobs[i] as () => Promise<T>)();
      results[i] = result;
      onDone(result);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  // Jobs that were never begun leave no hole.
  return results.filter(() => true);
}
