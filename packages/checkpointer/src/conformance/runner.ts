/** The functions of a test runner that the suites need; vitest, jest and others have them. */
export interface TestRunner {
  describe(name: string, body: () => void): void;
  it(name: string, body: () => void | Promise<void>): void;
  /** Throws unless the two are deeply equal. */
  equal(actual: unknown, expected: unknown): void;
}

export async function toArray<T>(items: AsyncIterable<T>): Promise<T[]> {
  const result: T[] = [];
  for await (const item of items) result.push(item);
  return result;
}
