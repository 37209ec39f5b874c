/**
 * 200 questions that name their passage by an identifier: ten kinds, five passages of each with
 * four identifiers, which differ in the order of their digits or in one part. Everything else in
 * the four passages is equal but for the answer.
 */

import type { Passage } from "../../src/text/passage.ts";

export interface LookAlike {
  readonly kind: string;
  readonly question: string;
  /** The id of the passage that it asks for. */
  readonly passage: string;
}

interface Kind {
  /** Five times four identifiers that are easily confused. */
  readonly groups: readonly string[];
  /** A passage and a question for each group: `#` is the identifier, `*` the answer. */
  readonly texts: readonly (readonly [passage: string, question: string])[];
}

const KINDS: Readonly<Record<string, Kind>> = {
  date: {
    groups: [
      "2024-01-10 2024-10-01 2024-01-01 2024-10-10",
      "2023-02-12 2023-12-02 2022-03-12 2022-12-03",
      "2021-05-06 2021-06-05 2021-05-05 2021-06-06",
      "11.08.2020 08.11.2020 11.11.2020 08.08.2020",
      "2019-07-09 2019-09-07 2019-07-07 2019-09-09",
    ],
    texts: [
      ["The backup of # was stored in room * of the archive.", "Where is the backup of #?"],
      ["Minutes of #: the committee elected * as treasurer.", "Who was elected on #?"],
      ["On # the furnace was stopped because of *.", "Why did the furnace stop on #?"],
      ["The delivery of # contained * and was signed at the gate.", "What came on #?"],
      ["During the audit of # the inspectors found *.", "What did the audit of # find?"],
    ],
  },
  "snake case": {
    groups: [
      "max_retry_count retry_max_count max_count_retry count_max_retry",
      "user_group_id group_user_id user_id_group id_user_group",
      "cache_read_timeout read_cache_timeout cache_timeout_read timeout_read_cache",
      "log_file_size file_log_size log_size_file size_log_file",
      "min_pool_idle pool_min_idle min_idle_pool idle_min_pool",
    ],
    texts: [
      ["The setting # decides *. Its default is in the table.", "What does # do?"],
      ["The column # of the table accounts holds *.", "What is stored in #?"],
      ["Set # to change *; a restart is needed.", "What can I change with #?"],
      ["The key # of the configuration limits *.", "Which limit does # set?"],
      ["If # is missing, the service uses *.", "What happens without #?"],
    ],
  },
  address: {
    groups: [
      "10.0.3.12 10.0.12.3 10.3.0.12 10.12.0.3",
      "192.168.1.24 192.168.24.1 192.168.2.14 192.168.14.2",
      "172.16.5.8 172.16.8.5 172.5.16.8 172.8.16.5",
      "10.1.2.3 10.2.1.3 10.3.2.1 10.1.3.2",
      "10.20.4.40 10.40.4.20 10.4.20.40 10.20.40.4",
    ],
    texts: [
      ["The machine with the address # runs *.", "What runs on #?"],
      ["The printer at # stands in *.", "Where is the printer #?"],
      ["Traffic from # is allowed only for *.", "What is # allowed to do?"],
      ["The switch # was replaced because of *.", "Why was # replaced?"],
      ["Requests to # are answered by *.", "Who answers requests to #?"],
    ],
  },
  host: {
    groups: [
      "db-03.east.example.net db-30.east.example.net db-03.west.example.net db-30.west.example.net",
      "web-12-a web-21-a web-12-b web-21-b",
      "node-114 node-141 node-411 node-144",
      "mx1.mail.example.org mx2.mail.example.org mx1.post.example.org mx2.post.example.org",
      "gpu-07-rack2 gpu-02-rack7 gpu-70-rack2 gpu-20-rack7",
    ],
    texts: [
      ["The host # keeps *.", "What does the host # keep?"],
      ["On # an administrator installed *.", "What was installed on #?"],
      ["The disk of # is full because of *.", "Why is the disk of # full?"],
      ["Mail for * goes to #.", "Whose mail goes to #?"],
      ["The lease of # belongs to *.", "Who holds the lease of #?"],
    ],
  },
  version: {
    groups: [
      "3.11.2 3.2.11 3.1.12 3.12.1",
      "v2.4.10 v2.10.4 v4.2.10 v10.2.4",
      "1.0.0-beta.2 1.0.0-beta.12 1.0.2-beta.0 1.2.0-beta.0",
      "7.1.3 7.3.1 7.13.0 7.31.0",
      "0.9.21 0.9.12 0.21.9 0.12.9",
    ],
    texts: [
      ["Release # of the compiler adds *.", "What is new in #?"],
      ["Upgrading to # removes *.", "What is gone in #?"],
      ["In # the parser fails on *.", "On what does the parser of # fail?"],
      ["Version # needs *.", "What does version # need?"],
      ["The fault in # concerns *.", "Which fault does # have?"],
    ],
  },
  part: {
    groups: [
      "A4-12B A4-21B A12-4B A21-4B",
      "KX-7740 KX-7704 KX-4770 KX-7470",
      "90-113-07 90-131-07 90-113-70 90-131-70",
      "LM317T LM371T LM137T LM173T",
      "M8x40 M8x14 M4x80 M14x8",
    ],
    texts: [
      ["The part # is made of *.", "What is # made of?"],
      ["Order # together with *.", "What is ordered with #?"],
      ["The valve # fits *.", "What does the valve # fit?"],
      ["The chip # was replaced by *.", "What replaced #?"],
      ["Use the bolt # for *.", "What is # used for?"],
    ],
  },
  "error code": {
    groups: [
      "ERR_4012 ERR_4021 ERR_4102 ERR_4210",
      "0x80070057 0x80070075 0x80075007 0x80077005",
      "ORA-01537 ORA-01573 ORA-01375 ORA-01357",
      "E1083 E1038 E1308 E1803",
      "HTTP-4291 HTTP-4219 HTTP-4912 HTTP-4129",
    ],
    texts: [
      ["The error # means *.", "What does # mean?"],
      ["If the installer stops with #, the cause is *.", "Why does the installer stop with #?"],
      ["# appears after *.", "When does # appear?"],
      ["To clear #, remove *.", "How do I clear #?"],
      ["The client shows # for *.", "For what is # shown?"],
    ],
  },
  invoice: {
    groups: [
      "INV-2024-0017 INV-2024-0071 INV-2024-0107 INV-2024-0701",
      "10809 10890 10980 18090",
      "RE/4471/23 RE/4417/23 RE/4471/32 RE/4417/32",
      "#55812 #55821 #55182 #58512",
      "C-300412 C-300421 C-304012 C-310402",
    ],
    texts: [
      ["Invoice # is about *.", "What was billed with #?"],
      ["Order # was sent to *.", "Where was # sent?"],
      ["The contract # covers *.", "What is covered by #?"],
      ["Ticket # was closed after *.", "How was # closed?"],
      ["The customer # complained about *.", "What did # complain about?"],
    ],
  },
  port: {
    groups: [
      "6379 6397 6739 6793",
      "8443 8434 8344 4438",
      "5432 5423 5342 5234",
      "9092 9029 9902 9290",
      "27017 27071 27107 20717",
    ],
    texts: [
      ["Port # is reserved for *.", "what runs on port #"],
      ["The firewall forwards # to *.", "where does # go"],
      ["Connections on # come from *.", "who connects to #"],
      ["The rule for # was added for *.", "why is # open"],
      ["The monitor of # warns about *.", "what does the monitor of # warn about"],
    ],
  },
  path: {
    groups: [
      "/etc/app/main.conf /etc/main/app.conf /app/etc/main.conf /main/etc/app.conf",
      "src/net/http.ts src/http/net.ts net/src/http.ts http/src/net.ts",
      "logs/2024/03/app.log logs/2023/04/app.log logs/2024/04/app.log logs/2023/03/app.log",
      "C:\\data\\in\\a1.csv C:\\data\\in\\a2.csv C:\\in\\data\\a1.csv C:\\in\\data\\a2.csv",
      "api.users.list api.list.users users.api.list list.users.api",
    ],
    texts: [
      ["The file # describes *.", "What is in #?"],
      ["The source file # implements *.", "What does # implement?"],
      ["Look into # for *.", "What can I find in #?"],
      ["The import of # failed because of *.", "Why did the import of # fail?"],
      ["The method # returns *.", "What does # return?"],
    ],
  },
};

/** What the four passages of a group say. */
const ANSWERS = [
  ["the north wing", "the south wing", "the east tower", "the cellar"],
  ["Ms. Okafor", "Mr. Lindqvist", "Dr. Ferreira", "Ms. Tanaka"],
  ["a broken pump", "a lost cable", "an old seal", "a power cut"],
  ["spare filters", "glass plates", "copper wire", "cotton bags"],
  ["missing labels", "wrong weights", "late reports", "open doors"],
] as const;

/** The passages and their questions. */
export function lookAlikes(): { readonly passages: Passage[]; readonly questions: LookAlike[] } {
  const passages: Passage[] = [];
  const questions: LookAlike[] = [];
  for (const [kind, { groups, texts }] of Object.entries(KINDS))
    for (const [group, [text, question]] of texts.entries())
      for (const [place, identifier] of groups[group]!.split(" ").entries()) {
        const id = `${kind} ${group} ${place}`;
        const fill = (form: string): string => form.replace("#", () => identifier);
        const answer = ANSWERS[group]![place]!;
        passages.push({ id, title: "", text: fill(text).replace("*", answer) });
        questions.push({ kind, question: fill(question), passage: id });
      }
  return { passages, questions };
}
