import { fence } from "../messages/notices.ts";
import { REDACTED, redactSecrets } from "./secrets.ts";

export interface CleanProse {
  readonly text: string;
  /** Next steps that the summariser proposed by itself: not agreed by anyone, so they are open. */
  readonly suggestions: readonly string[];
  readonly reasons: readonly string[];
}

/** Sentences that speak to a reader instead of reporting: left in, they would be obeyed later. */
const COMMAND =
  /\b(?:respond|reply|answer|output|return)\b[^.!?]{0,30}\b(?:only|exclusively|nothing but)\b|\b(?:text|json) only\b|\b(?:do not|don't|never|must not)\s+(?:call|use|invoke)\s+(?:any\s+)?(?:tools?|functions?)\b|\b(?:ignore|disregard|forget)\s+(?:(?:all|any|the|your|of)\s+)*(?:previous|prior|above|earlier|users?|instructions?|rules?|goal)\b|\b(?:ignoriere|ignora|ignorez|ignore)\s+(?:alle|die|todas?|las|les|toutes|as|o|el)\b|(?<!\p{L})игнорируй|\byou are now\b|\bsystem prompt\b|只(?:输出|回复|回答)(?:文本|JSON)|不要(?:调用|使用)(?:任何)?工具|忽略(?:之前|以上|上面|用户|所有)|無視(?:して|せよ)/iu;
const PROPOSAL =
  /^(?:the\s+)?(?:suggested\s+|recommended\s+|proposed\s+)?(?:next|following)\s+(?:steps?|actions?)\b\s*(?:is|are)?\s*(?:to\s+)?[:：-]?\s*|^(?:下一步|接下来|próximos?\s+passos?|siguientes?\s+pasos?|prochaines?\s+étapes?|nächste[rn]?\s+schritte?|次のステップ|다음\s*단계)\s*[:：-]?\s*/i;
/** The heading of a rendered summary: prose that repeats one would look like a summary inside a summary. */
const HEADING = /Steps \d+–\d+ \(tier \d+\)|^(?:Done|Outputs|Problems|Effect|Open):\s*/gim;

/**
 * Makes prose safe to stand in later requests: one line, no secret, no control or direction character, no way to close a
 * fence, no command to the reader, no instruction that was the summariser's own.
 */
export function cleanProse(text: string, instructions: string): CleanProse {
  const reasons: string[] = [];
  const suggestions: string[] = [];
  const redacted = redactSecrets(text);
  if (redacted !== text && redacted.includes(REDACTED)) reasons.push("a credential was taken out");
  const flat = fence(redacted.replace(HEADING, " "))
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is taken out
    .replace(/[\u0000-\u001f\u007f\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]+/g, " ")
    .replace(/ {2,}/g, " ")
    .trim()
    .toWellFormed();
  const kept: string[] = [];
  for (const sentence of sentences(flat)) {
    const bare = sentence.trim();
    const proposal = PROPOSAL.exec(bare)?.[0];
    if (COMMAND.test(bare) || (bare.length >= 25 && instructions.includes(bare))) {
      reasons.push("a sentence that commands the reader was taken out");
    } else if (proposal !== undefined && bare.length > proposal.length) {
      reasons.push("a proposed next step was moved to the open items");
      suggestions.push(`proposed, not agreed: ${bare.slice(proposal.length)}`);
    } else kept.push(sentence);
  }
  return { text: kept.join("").trim(), suggestions, reasons };
}

/** Sentences with the space behind them; joined they are the text again. */
function sentences(text: string): string[] {
  return (
    text.match(/[^.!?。！？]*(?:[.!?](?!\s|$)[^.!?。！？]*)*(?:[.!?。！？]+\s*|$)/g)?.filter(Boolean) ?? []
  );
}
