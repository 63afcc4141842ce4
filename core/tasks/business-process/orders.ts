/** The rows of the order desk: a customer's message and the small database behind it, drawn from seeds. */

import { z } from "zod";
import { HoneError } from "../../contract/errors.ts";
import { Random } from "../../contract/random.ts";

/** What the customer asks for. */
export const wishes = ["money_back", "damaged", "status"] as const;
export type Wish = (typeof wishes)[number];

const whole = z.number().int().min(0);

const orderSchema = z.strictObject({
  number: whole.min(1),
  item: z.string().min(1),
  /** Euros, two decimals. */
  price: z.number().positive(),
  /** Null while it is on its way. */
  delivered_days_ago: whole.nullable(),
  /** Such as `14 May`; null once it is delivered. */
  arrives: z.string().min(1).nullable(),
  /** Pieces that could be sent as a replacement. */
  stock: whole,
});

export const deskRowSchema = z
  .strictObject({
    id: z.string().min(1),
    request: z.string().min(1),
    wish: z.enum(wishes),
    /** The order that the request is about; one of `orders`. */
    order: whole,
    /** All that the simulated database holds. */
    orders: z.array(orderSchema).min(1),
    /** When a replacement would arrive, such as `14 May`. */
    replacement_arrives: z.string().min(1),
    /** The number that an escalation would get. */
    case_number: whole.min(1),
    /** The first look-up fails, and works when it is tried again. */
    busy: z.boolean(),
  })
  .refine(({ order, orders }) => orders.some(({ number }) => number === order), {
    path: ["order"],
    message: "is not among the orders",
  });

export type DeskRow = z.infer<typeof deskRowSchema>;
export type Order = DeskRow["orders"][number];

/** Checks one row of a file. Throws `bad-row` with the field. */
export function parseDeskRow(value: unknown): DeskRow {
  const result = deskRowSchema.safeParse(value);
  if (result.success) return result.data;
  const [{ path, message }] = result.error.issues;
  const id = typeof value === "object" && value !== null && "id" in value ? String(value.id) : "without id";
  throw new HoneError("bad-row", `row ${id}: ${path.length === 0 ? "" : `${path.join(".")}: `}${message}`);
}

export function orderOf(row: DeskRow): Order {
  const found = row.orders.find(({ number }) => number === row.order);
  if (found === undefined) throw new Error(`row ${row.id} has no order ${row.order}`);
  return found;
}

/** The product families, four products each, with the prices (euros) that they are drawn from. */
export const products = [
  ...["desk lamp", "wall clock", "door mat", "mirror"],
  ...["kettle", "toaster", "blender", "frying pan"],
  ...["rain jacket", "scarf", "backpack", "pair of boots"],
  ...["tent", "yoga mat", "bicycle pump", "sleeping bag"],
  ...["keyboard", "headset", "webcam", "printer"],
  ...["puzzle", "board game", "toy train", "paint set"],
] as const;

/** What makes a row one of the six cases of the policy. */
export const kinds = ["refund", "late", "approval", "replace", "no_stock", "status"] as const;
export type Kind = (typeof kinds)[number];

/** Rows of one product in one case. */
const rowsPerProblem = 6;

const names = ["Anna", "Ben", "Carla", "David", "Elif", "Femi", "Greta", "Hugo", "Ines", "Jonas", "Kira", "Liam"];
const months = ["March", "April", "May", "June", "July", "August"];

const requests: Record<Wish, readonly string[]> = {
  money_back: [
    "I would like my money back for the {item} from order {order}.",
    "Order {order}: the {item} is not for me. Please refund it.",
    "I changed my mind about the {item}, order {order}. Can I have a refund?",
    "Please take back the {item} of order {order} and return my money.",
    "The {item} (order {order}) does not fit my home. I want a refund{claim}.",
  ],
  damaged: [
    "The {item} from order {order} arrived broken.",
    "Order {order}: my {item} has a crack. What can you do?",
    "My {item} came damaged, order {order}. Please help.",
    "The {item} in order {order} does not work at all{claim}.",
    "I unpacked order {order} and the {item} was in pieces.",
  ],
  status: [
    "Where is my {item}? It is order {order}.",
    "When will order {order} with the {item} arrive?",
    "I am still waiting for the {item} from order {order}.",
    "Order {order}: any news about my {item}?",
    "Has my {item} been sent? Order {order}{claim}.",
  ],
};

/** All rows, the same ones always: every product in every case, six times. */
export function deskRows(): DeskRow[] {
  const random = new Random("business-process rows");
  return kinds.flatMap((kind) =>
    products.flatMap((item) =>
      Array.from({ length: rowsPerProblem }, (_, i) =>
        makeRow(kind, item, `${kind}-${item.replaceAll(" ", "-")}-${i + 1}`, random.split(kind, item, i)),
      ),
    ),
  );
}

function makeRow(kind: Kind, item: string, id: string, random: Random): DeskRow {
  const wish: Wish =
    kind === "status"
      ? "status"
      : kind === "replace" || kind === "no_stock" || (kind === "approval" && random.integer(2) === 0)
        ? "damaged"
        : "money_back";
  const between = (least: number, most: number) => least + random.integer(most - least + 1);
  const price = (least: number, most: number) => between(least, most) + random.pick([0, 0.5, 0.9, 0.95]);
  const date = () => `${between(1, 28)} ${random.pick(months)}`;
  const number = between(1000, 9899);
  const stockless = kind === "no_stock" || (kind === "approval" && wish === "damaged");
  const order: Order = {
    number,
    item,
    price: kind === "approval" ? price(110, 480) : kind === "late" || kind === "status" ? price(8, 300) : price(8, 95),
    delivered_days_ago: kind === "status" ? null : kind === "late" ? between(34, 120) : between(2, 27),
    arrives: kind === "status" ? date() : null,
    stock: stockless ? 0 : between(1, 9),
  };
  const others = [1, 2].map((step): Order => ({
    number: number + step * between(1, 49),
    item: random.pick(products),
    price: price(8, 300),
    delivered_days_ago: between(2, 120),
    arrives: null,
    stock: between(0, 9),
  }));
  // A customer who remembers wrongly: what counts is what the order says.
  const claim = random.pick([`, I paid ${between(8, 300)} euros`, ", I got it some days ago", ""]);
  const request = random
    .pick(requests[wish])
    .replace("{item}", item)
    .replace("{order}", String(number))
    .replace("{claim}", wish === "status" ? "" : claim);
  return {
    id,
    request: `${request} ${random.pick(names)}`,
    wish,
    order: number,
    orders: random.shuffle([order, ...others.filter((other) => other.number !== number)]),
    replacement_arrives: date(),
    case_number: between(200, 999),
    busy: random.integer(10) === 0,
  };
}
