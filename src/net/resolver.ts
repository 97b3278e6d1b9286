/** What a name resolves to, asked from the system as every other program of the machine asks. */

/** All addresses of a name, A and AAAA, in the order in which they are to be tried. Rejects if there is none. */
export type Resolve = (name: string, signal: AbortSignal) => Promise<readonly string[]>;

/**
 * Asks the system's resolver, so that its hosts file counts too. A question cannot be taken back: after an abort its
 * answer is dropped.
 */
export async function resolveBySystem(name: string): Promise<readonly string[]> {
  const { lookup } = await import("node:dns/promises");
  const answers = await lookup(name, { all: true, verbatim: true });
  return answers.map(({ address }) => address);
}
