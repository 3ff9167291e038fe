import { Holes, type Item, TextNode, ValueNode } from "./node.ts";
import { OP, type Op } from "./ops.ts";
import type { Packer } from "./packer.ts";
import {
  bigint,
  childAt,
  containerOp,
  malformed,
  numberAt,
  type StoredChunk,
  type StoredText,
  specialNumber,
  stringAt,
  textOf,
} from "./stored-text.ts";

/**
 * The nodes of a stored text: what an encoder would have made of its values. Needed only where what was read is stored again, so not
 * made before. Those of a chunk are made once.
 */
export function nodesOf(text: StoredText, packer: Packer): readonly Item[] {
  // children first, without recursion; no cycle can be here, since live values were made of it
  const stack = [...text.children];
  for (let chunk = stack.at(-1); chunk; chunk = stack.at(-1)) {
    const open = chunk.items ? [] : chunk.children.filter(({ items }) => !items);
    if (open.length > 0) {
      for (const child of open) stack.push(child);
      continue;
    }
    chunk.items ??= parse(chunk, packer, chunk);
    stack.pop();
  }
  return parse(text, packer);
}

/** With `chunk`, a single container is the value of that chunk and stands in its parent as a reference. */
function parse(text: StoredText, packer: Packer, chunk?: StoredChunk): readonly Item[] {
  const { tokens } = text;
  // the items of all open containers, one after another: a container's own array gets the right size at once
  const items: Item[] = [];
  const open: { readonly op: Op; readonly start: number }[] = [];
  let child = 0;
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i] as string | number | boolean | null;
    if (typeof token !== "number") {
      items.push(token);
      continue;
    }
    switch (token) {
      case OP.NUM:
        items.push(numberAt(tokens, ++i));
        break;
      case OP.UNDEFINED:
        items.push(undefined);
        break;
      case OP.SPECIAL:
        items.push(specialNumber(stringAt(tokens, ++i)));
        break;
      case OP.BIGINT:
        items.push(bigint(stringAt(tokens, ++i)));
        break;
      case OP.HOLES:
        items.push(new Holes(Number(stringAt(tokens, ++i))));
        break;
      case OP.REF:
      case OP.RUN:
        i++;
        for (const item of childAt(text, child++).items ?? []) items.push(item);
        break;
      case OP.TEXT: {
        i++;
        const target = childAt(text, child++);
        items.push(new TextNode(textOf(target), target));
        break;
      }
      case OP.END: {
        const done = open.pop();
        if (!done) throw malformed("an end without a beginning");
        const isWhole = open.length === 0 && done.start === 0 && i === tokens.length - 1;
        items.push(new ValueNode(done.op, items.splice(done.start), packer, isWhole ? chunk : undefined));
        break;
      }
      default:
        open.push({ op: containerOp(token), start: items.length });
    }
  }
  return items;
}
