import { seededRandom } from "@longhaul/test-kit";
import { shuffle } from "./catalogue.ts";

/** What company sites say at length without saying anything. No amounts, no dates, no report numbers. */
const PARAGRAPHS = [
  "We believe that great software begins with listening. Over many years our teams have worked side by side with customers from logistics, health care, public administration and retail, and every release carries what they taught us. Our community shares patterns, templates and stories, and many of them have found their way into the product.",
  "Our platform grows with you. Begin with one department, learn, and roll out at your own pace. Workspaces, roles and approvals follow the way your organisation works, and administrators see at any moment who may do what. Nothing is locked away: everything that you put in can be taken out again in open formats.",
  "Reliability is not a feature, it is an attitude. Our operations team watches the service around the clock from several places in the world. Maintenance happens at night and is announced well ahead; a public status page tells the whole story, including the parts that we would rather not tell.",
  "Customers often ask how we differ from others. The honest answer is that we answer the phone. Our support engineers write code, read logs and know the product from within, and a question that cannot be answered at once is answered the same day in most cases.",
  "We take the environment seriously. Our data centres run on renewable energy, our offices recycle, and our people travel by train wherever it makes sense. A yearly report describes what we have achieved and where we fell behind our own aims.",
  "Integration is where projects succeed or fail. Connectors for directories, mail, storage and chat come with the product, and a documented interface is there for everything else. Webhooks, queues and scheduled exports let you build what we did not think of.",
  "Training belongs to every project. We offer short videos, guided tours inside the product, and workshops held by people who have run projects like yours. Certificates are available for administrators and for power users who want to show what they have learned.",
  "Our roadmap is public. Everybody may propose, comment and vote, and we say what we will not build and why. This openness has saved us from many detours, and it lets customers plan with us instead of around us.",
  "Search is fast, forgiving and everywhere. It finds words in documents, comments and attachments, understands synonyms, and respects permissions down to the single field. Saved searches turn into dashboards, and dashboards into reports that arrive in your mailbox on Monday morning.",
  "Privacy is built in from the first sketch. Data stays in the region that you choose, retention rules can be set for each kind of record, and access by our own staff needs your consent, which you may withdraw at any time. An appendix for data processing is part of every contract.",
  "A note on browsers: our application works in all current browsers and on tablets. Offline mode keeps the most recent documents at hand, and changes are merged when the connection is back. Keyboard shortcuts can be printed from the help page.",
  "The people behind the product come from many countries and professions. Some of us were customers before we joined. We hire slowly, train well and stay long, which is why the person who helps you today will probably help you next year as well.",
  "Migration does not have to hurt. Our tools read the formats of most competing products, show what will be lost before anything is lost, and can be run as often as you like until the result is right. A rehearsal with a copy of your data is part of every larger project.",
  "Partners extend what we do. System houses, consultants and specialised developers in your region know your language and your rules. A directory of partners with references is open to everyone, and we do not take commissions for the business that they do with you.",
  "Accessibility matters to us. The application can be used without a mouse, works with screen readers, and has passed independent reviews. Contrast, font size and motion follow the settings of your device, and feedback from users with disabilities has priority in our backlog.",
];

const BANNER =
  "We use cookies to make this site work and to understand how it is used. You may accept all, refuse all or choose. " +
  "Home | Product | Customers | Pricing | Trust | Terms | Support | Careers | Contact | Language: English";

/** A page of about `chars` characters with the given sentences spread over its middle, banner at both ends. */
export function makePage(head: string, sentences: readonly string[], chars: number, seed: number): string {
  const random = seededRandom(seed);
  const room = Math.max(0, chars - head.length - sentences.join("\n\n").length - 2 * BANNER.length);
  const filler: string[] = [];
  for (let length = 0; length < room; ) {
    for (const paragraph of shuffle(PARAGRAPHS, random)) {
      if (length >= room) break;
      filler.push(paragraph);
      length += paragraph.length + 2;
    }
  }
  const first = Math.floor(filler.length * (0.4 + random() * 0.1));
  sentences.forEach((sentence, index) => {
    filler.splice(first + index * 2, 0, sentence);
  });
  return [head, BANNER, ...filler, BANNER].join("\n\n");
}
