import type { StorageDriver } from "../driver/driver.ts";
import { DamagedRecordError } from "../errors.ts";

/**
 * What `read` gives, beside prunes and deletions: it reads in several calls, and what went between two of them is no damage.
 *
 * @throws DamagedRecordError when nothing was removed meanwhile
 */
export async function settled<T>(
  driver: StorageDriver,
  threadId: string,
  read: () => Promise<T>,
): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!DamagedRecordError.isInstance(error)) throw error;
  }
  for (;;) {
    const era = (await driver.thread(threadId))?.era;
    try {
      return await read();
    } catch (error) {
      if (!DamagedRecordError.isInstance(error)) throw error;
      if ((await driver.thread(threadId))?.era === era) throw error;
    }
  }
}
