/** What stands where a credential was. */
export const REDACTED = "[redacted]";

/** Tokens that are credentials by their own shape. */
const SHAPES: RegExp = new RegExp(
  [
    "-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\\s\\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)",
    "\\b[Bb]earer\\s+(?=[^\\s\"']*[\\d_=]|[^\\s\"']{20})[\\w.~+/=-]{4,}",
    "\\b(?:[Bb]asic|[Tt]oken|[Dd]igest)\\s+(?=[^\\s\"']*[\\d=])(?=[^\\s\"']{8})[\\w.~+/=-]{8,}",
    "\\b(?:sk|pk|rk|tok|key|secret|whsec|access|token)_(?:live|test|prod|sandbox)_\\w{3,}",
    "\\bsk-[\\w-]{16,}",
    "\\b(?:gh[pousr]|npm|hf|pat)_[A-Za-z0-9]{16,}",
    "\\bgithub_pat_\\w{16,}",
    "\\bglpat-[\\w-]{12,}",
    "\\bxox[abeprs]-[\\w-]{8,}",
    "\\b(?:AKIA|ASIA)[A-Z0-9]{16}\\b",
    "\\bAIza[\\w-]{30,}",
    "\\bya29\\.[\\w-]{16,}",
    "\\bSG\\.[\\w-]{16,}\\.[\\w-]{16,}",
    "\\beyJ[\\w-]{8,}\\.[\\w-]{8,}\\.[\\w-]{4,}",
  ].join("|"),
  "g",
);

/** `scheme://user:password@host`: only the password goes. */
const USERINFO = /(:\/\/[^\s:/@"']{0,100}:)[^\s/@"']{1,200}(?=@)/g;

/**
 * A name that announces a credential, and its value: quoted (also inside quoted JSON), or up to the next separator.
 * `token` alone also names cursors and counts, so its value must look the part (see `isTokenValue`).
 */
const KEYED =
  /(passwords?|passwd|passphrase|pwd|secrets?|api[_-]?key|access[_-]?key|private[_-]?key|client[_-]?secret|credentials?|authorization|(?:set-)?cookie|token)([\w-]{0,12}\\?["']?\s{0,4}[=:]\s{0,4})(\\?["'](?:[^"'\\\n]|\\[^"'\n]){1,4000}\\?["']|(?:(?:bearer|basic|token|digest)\s+)?[^\s,;&"'<>{}[\]()]+)/gi;

const CURSOR_BEFORE = /(?:page|next|prev|previous|sync|continuation|cursor|resume|start|end)[_-]?$/i;

/**
 * Text without credential-shaped strings: known token formats, bearer and basic values, private keys, passwords in URLs,
 * and values behind names such as `password`, `api_key`, `authorization`. Everything else stays character for character.
 * Applying it twice changes nothing. Cost: linear.
 */
export function redactSecrets(text: string): string {
  if (!MAYBE.test(text)) return text;
  let before = text;
  let after = redactOnce(text);
  // What stood beside a secret can look like one when that is gone; nearly always the second look changes nothing.
  for (let i = 0; after !== before && i < 4; i++) {
    before = after;
    after = redactOnce(after);
  }
  return after;
}

function redactOnce(text: string): string {
  return text
    .replace(SHAPES, REDACTED)
    .replace(USERINFO, `$1${REDACTED}`)
    .replace(KEYED, (whole: string, ...rest: [string, string, string, number, string]) => {
      const [name, between, value, at, all] = rest;
      if (value.includes(REDACTED)) return whole;
      const lower = name.toLowerCase();
      if (lower === "token") {
        if (CURSOR_BEFORE.test(all.slice(Math.max(0, at - 14), at)) || !isTokenValue(value)) return whole;
      } else if (/^(?:null|true|false|none|undefined)$/i.test(value)) return whole;
      const quote = /^\\?["']/.exec(value)?.[0] ?? "";
      return `${name}${between}${quote}${REDACTED}${quote}`;
    });
}

/** Whether a string holds something credential-shaped. */
export function looksLikeSecret(text: string): boolean {
  return redactSecrets(text) !== text;
}

/** Nearly all texts hold none of these, and one look is cheaper than three rewrites. */
const MAYBE =
  /pass|pwd|secret|key|token|credential|authoriz|cookie|bearer|basic|digest|:\/\/[^\s/@]+@|_(?:live|test|prod|sandbox)_|sk-|gh[pousr]_|npm_|hf_|pat[_-]|xox|AKIA|ASIA|AIza|ya29|SG\.|eyJ/i;

function isTokenValue(value: string): boolean {
  const bare = value.replace(/^\\?["']|\\?["']$/g, "");
  return bare.length >= 6 && !/^[\d.]+$/.test(bare) && (/\d/.test(bare) || bare.length >= 16);
}
