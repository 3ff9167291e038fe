import { shuffle } from "./catalogue.ts";

const FIRST = [
  "Northgate",
  "Harbor",
  "Larkspur",
  "Silverline",
  "Oakmere",
  "Vantage",
  "Kestrel",
  "Bluefin",
  "Meridian",
  "Cobalt",
  "Juniper",
  "Redstone",
  "Halcyon",
  "Ironbridge",
  "Lumen",
  "Marlow",
  "Pinecrest",
  "Quarry",
  "Rowan",
  "Sable",
  "Tidewater",
  "Umber",
  "Westbrook",
  "Yarrow",
  "Zephyr",
  "Alder",
  "Birch",
  "Calder",
  "Dunmore",
  "Everly",
];
const SECOND = [
  "Cloud",
  "Systems",
  "Data",
  "Networks",
  "Digital",
  "Software",
  "Labs",
  "Works",
  "Logic",
  "Platforms",
];

/** Names of two capitalised words, all different in the first. */
export function makeNames(count: number, random: () => number): string[] {
  return shuffle(FIRST, random)
    .slice(0, count)
    .map((first) => `${first} ${SECOND[Math.floor(random() * SECOND.length)]}`);
}
