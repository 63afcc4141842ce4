/** Notes as people dash them off, from facts by seed. */

import { HoneError } from "../../contract/errors.ts";
import { Random } from "../../contract/random.ts";
import { isRecord } from "../../contract/is-record.ts";

/** One thing that was done: `{ verb: "repaired", what: "the front door" }`. */
export interface Deed {
  /** YYYY-MM-DD. */
  date: string;
  verb: string;
  what: string;
  who: string;
}

export interface NoteRow {
  id: string;
  /** Rows of one area stay in one part. */
  area: string;
  project: string;
  note: string;
  /** In the order of the note. */
  deeds: Deed[];
  /** What comes next: a verb in its basic form and an object. */
  next: string;
}

interface Area {
  projects: readonly string[];
  /** `verb object`. */
  deeds: readonly string[];
  next: readonly string[];
}

/** Entries are divided by bars. */
function area(projects: string, deeds: string, next: string): Area {
  return { projects: projects.split("|"), deeds: deeds.split("|"), next: next.split("|") };
}

export const areas: Readonly<Record<string, Area>> = {
  servers: area(
    "Harbour|Beacon",
    "moved 12 servers|replaced the old router|updated the backup script|tested the new firewall",
    "measure the load|order two switches",
  ),
  kitchen: area(
    "Canteen|Saffron",
    "cleaned the cold room|ordered 40 plates|repaired the large oven|planned the spring menu",
    "train the new cook|paint the pantry",
  ),
  garden: area(
    "Greenway|Orchard",
    "planted 25 trees|watered the new lawn|painted the fence|trimmed the hedges",
    "build a shed|order more soil",
  ),
  library: area(
    "Folio|Readers",
    "sorted 300 books|scanned the old maps|installed a reading lamp|labelled the shelves",
    "invite the schools|print new cards",
  ),
  school: area(
    "Campus|Abacus",
    "printed 90 reports|booked the gym|graded the exams|arranged the chairs",
    "call the parents|check the heating",
  ),
  clinic: area(
    "Mercy|Pulse",
    "ordered 60 masks|tested the scanner|trained two nurses|updated the schedule",
    "inspect the ward|renew the licence",
  ),
  studio: area(
    "Echo|Vinyl",
    "recorded 8 songs|mixed the first album|repaired the piano|cleaned the booth",
    "master the album|rent a microphone",
  ),
  theatre: area(
    "Curtain|Limelight",
    "painted the backdrop|hired 5 dancers|tested the lights|sorted the costumes",
    "rehearse the finale|sell the tickets",
  ),
  bakery: area(
    "Crumb|Rye",
    "baked 70 loaves|replaced the mixer|weighed the flour|washed the trays",
    "test a new dough|visit the mill",
  ),
  harbour: area(
    "Anchor|Tide",
    "unloaded 15 boats|inspected the crane|painted the pier|counted the ropes",
    "dredge the basin|move the buoys",
  ),
  bank: area(
    "Vault|Ledger",
    "checked 45 accounts|closed the old branch|moved the safe|audited the loans",
    "inform the clients|renew the locks",
  ),
  museum: area(
    "Amber|Gallery",
    "restored 3 paintings|opened the east wing|dusted the statues|catalogued the coins",
    "insure the loans|plan a tour",
  ),
  farm: area(
    "Meadow|Barley",
    "harvested 20 acres|repaired the tractor|vaccinated the sheep|cleaned the barn",
    "sell the hay|drill a well",
  ),
  post: area(
    "Parcel|Relay",
    "sorted 800 letters|loaded the vans|repaired the scale|mapped the new route",
    "hire a driver|order more bags",
  ),
  lab: area(
    "Prism|Quartz",
    "analysed 16 samples|cleaned the bench|calibrated the laser|ordered the reagents",
    "repeat the test|publish the data",
  ),
};

const people = "Ana|Ben|Chen|Dora|Emil|Farah|Goran|Hana|Ivo|Jamila".split("|");
const months = "January|February|March|April|May|June|July|August|September|October|November|December".split("|");
const openers = ["Hi all!!", "Hello everyone,", "Hey team!", "Good news!!!", "So, a quick word from me."];
const closers = [
  "Cheers!",
  "Talk soon!!",
  "Have a great week!",
  "Thanks to everyone, you are the best!",
  "Bye for now.",
];

/** `2026-03-05` as `March 5`. The year of all notes is 2026. */
export function spokenDate(date: string): string {
  return `${months[Number(date.slice(5, 7)) - 1]} ${Number(date.slice(8))}`;
}

const tellings: ((deed: Deed) => string)[] = [
  ({ date, verb, what, who }) => `On ${spokenDate(date)} ${who} finally ${verb} ${what}!`,
  ({ date, verb, what, who }) => `${who} ${verb} ${what} on ${spokenDate(date)}, which was really great.`,
  ({ date, verb, what, who }) => `You will not believe it: ${who} ${verb} ${what} (that was ${spokenDate(date)})!!`,
  ({ date, verb, what, who }) => `Then there was ${spokenDate(date)}, when ${who} ${verb} ${what}.`,
];

/** Rows of one area, all different, always the same ones. */
export function areaRows(name: string, count: number): NoteRow[] {
  const random = new Random("writing-format").split(name);
  const { projects, deeds, next } = areas[name];
  const rows = new Map<string, NoteRow>();
  while (rows.size < count) {
    const month = 1 + random.integer(12);
    const done = random
      .shuffle(deeds)
      .slice(0, 2)
      .map((deed, i): Deed => {
        const day = 1 + random.integer(14) + 14 * i;
        const date = `2026-${String(month).padStart(2, "0")}-${String(day).padStart(2, "0")}`;
        const [verb, ...what] = deed.split(" ");
        return { date, verb, what: what.join(" "), who: random.pick(people) };
      });
    const row = { area: name, project: random.pick(projects), deeds: random.shuffle(done), next: random.pick(next) };
    const note = [
      random.pick(openers),
      `It is about ${row.project}.`,
      ...row.deeds.map((deed) => random.pick(tellings)(deed)),
      random.pick([`Next we want to ${row.next}.`, `And then we will ${row.next}, I hope!`]),
      random.pick(closers),
    ].join(" ");
    if (!rows.has(note)) rows.set(note, { id: `${name}-${rows.size + 1}`, ...row, note });
  }
  return [...rows.values()];
}

/** Checks a row of a file. Throws `HoneError` `bad-row`. */
export function parseRow(value: unknown): NoteRow {
  const row = isRecord(value) ? value : {};
  const fail = (what: string): never => {
    throw new HoneError("bad-row", `row ${typeof row.id === "string" ? row.id : "without id"}: ${what}`, {
      fix: 'a row is {"id": "a", "area": "farm", "project": "Meadow", "note": "…", "deeds": [{"date": "2026-03-05", "verb": "sold", "what": "the hay", "who": "Ana"}], "next": "clean the barn"}',
    });
  };
  const text = (from: Record<string, unknown>, key: string) => {
    const given = from[key];
    return typeof given === "string" && given !== "" ? given : fail(`${key} is not a text`);
  };
  if (!Array.isArray(row.deeds) || row.deeds.length === 0) return fail("deeds is not a list");
  const deeds = row.deeds.map((given: unknown): Deed => {
    const deed = isRecord(given) ? given : {};
    const date = text(deed, "date");
    if (!/^\d{4}-\d{2}-\d{2}$/.test(date)) fail(`${date} is not a date like 2026-03-05`);
    return { date, verb: text(deed, "verb"), what: text(deed, "what"), who: text(deed, "who") };
  });
  const { id, area, project, note, next } = Object.fromEntries(
    ["id", "area", "project", "note", "next"].map((key) => [key, text(row, key)]),
  );
  return { id, area, project, note, deeds, next };
}
