/**
 * Text that packs about as well as source code, logs and prose do, the same for the same seed. Its words are many and unevenly frequent, and every
 * tenth is a number, a path or an id, so that a packer finds no more in it than in real transcripts.
 */
export function prose(seed: number, chars: number): string {
  const next = randomOf(seed);
  let out = "";
  while (out.length < chars) {
    const kind = next() % 20;
    if (kind === 0) out += `${next() % 1_000_000} `;
    else if (kind === 1) out += `${next().toString(16)}${next().toString(16)} `;
    else if (kind === 2) out += `src/${wordOf(next())}/${wordOf(next())}.ts:${next() % 900}\n`;
    else out += `${wordOf(next())} `;
  }
  return out.slice(0, chars);
}

/** Text in which a packer finds nothing but its alphabet of 64. */
export function noise(seed: number, chars: number): string {
  const next = randomOf(seed);
  const bytes = Buffer.alloc(Math.ceil((chars * 3) / 4));
  for (let i = 0; i < bytes.length; i++) bytes[i] = next() & 255;
  return bytes.toString("base64").slice(0, chars);
}

/** Xorshift; numbers from 0 to 2³² − 1. */
export function randomOf(seed: number): () => number {
  let state = Math.imul(seed + 1, 0x9e3779b1) >>> 0 || 1;
  const next = () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state;
  };
  // neighbouring seeds differ in few bits at first
  for (let i = 0; i < 8; i++) next();
  return next;
}

const SYLLABLES =
  "ta re in co de fi lo mu ne pa ri so te un va er al or is an ca di ex ge ho it ke li mo no op pre qu ra sta ti ul ve wa con".split(
    " ",
  );
const WORDS: readonly string[] = Array.from({ length: 6_000 }, (_, i) => {
  const next = randomOf(i + 77_777);
  return Array.from(
    { length: 1 + (next() % 2) + (i > 200 ? 1 : 0) },
    () => SYLLABLES[next() % SYLLABLES.length],
  ).join("");
});

/** The n-th word is about as frequent as 1/n, as in a language. */
function wordOf(random: number): string {
  const rank = Math.floor(WORDS.length ** (random / 2 ** 32)) - 1;
  return WORDS[rank] as string;
}
