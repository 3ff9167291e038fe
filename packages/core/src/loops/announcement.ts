/**
 * A short text whose only content is that the work will go on ("Let me continue."), in English or Chinese. A question, or
 * anything longer than 120 characters, is an answer.
 */
export function isAnnouncement(text: string): boolean {
  return text.length <= 120 && !/[?？]/.test(text) && ANNOUNCEMENT.test(text);
}

const ANNOUNCEMENT =
  /^(?:(?:ok(?:ay)?|sure|alright|right|great|now|next|then|好的?|那么|接下来)[\s,.!:，。！]*)*(?:(?:let me|let us|let's|i will|i'll|i’ll|i am going to|i'm going to|i’m going to|i am|i'm|让我|我们?来|我们?会|我们?将|我们?)\s*(?:now\s+|just\s+)?)?(?:continu(?:e|ing)|proceed(?:ing)?|keep(?:ing)? going|go(?:ing)? on|carry(?:ing)? on|mov(?:e|ing) on|resum(?:e|ing)|继续)(?![a-z])/i;
