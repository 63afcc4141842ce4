/** The kinds of documents: their fields, and texts with the values left open. */

import { amount, code, date, oneOf, text, time, whole, type Field } from "./fields.ts";

export interface DocumentKind {
  /** In the order of the answer. */
  fields: Record<string, Field>;
  /** Values that texts give and nobody asked for. */
  others: Record<string, Field>;
  /** With `{field}` where a value is said; what stands in brackets may be left out, and its field is null then. */
  texts: readonly string[];
}

const person = text(
  "Ana Costa|Ben Wright|Chen Li|Dora Klein|Emil Novak|Farah Aziz|Goran Ilic|Hana Sato|Ivo Marin|Jamila Okoro|Karl Berg|Lena Fischer",
);
const city = text("Lisbon|Oslo|Graz|Lyon|Porto|Turin|Ghent|Bergen|Malaga|Leipzig");
const product = text("desk lamp|office chair|kettle|wool blanket|bookshelf|garden hose|tea set|wall clock|tool box");

export const documents: Readonly<Record<string, DocumentKind>> = {
  order: {
    fields: { customer: person, item: product, quantity: whole(1, 30), due: date },
    others: { number: code("A", 4), ordered: date, phone: code("555", 4), stock: whole(40, 90) },
    texts: [
      "{customer} orders {quantity} pieces of the {item}[, to be delivered by {due}]. Order number {number}.",
      "New order of {ordered}: {item}, quantity {quantity}[, for {customer}]. Deliver until {due}.",
      "Hello, this is {customer}. I would like the {item}, {quantity} of them[, and I need them on {due}]. You can call me at {phone}.",
      "Please reserve {quantity} x {item}[ for {customer}]. We have {stock} in stock. Shipping date: {due}.",
      "On {ordered} we got a call: {customer} wants the {item}[ ({quantity} pieces)]. It has to arrive on {due}.",
      "{item} / {quantity} units / buyer {customer}[ / wanted {due}] / entered {ordered}",
    ],
  },
  appointment: {
    fields: { patient: person, doctor: text("Dr. Weber|Dr. Moss|Dr. Silva|Dr. Tanaka|Dr. Horn"), date, time },
    others: { room: whole(2, 12), born: date, old: time },
    texts: [
      "{patient} sees {doctor} on {date}[ at {time}], room {room}.",
      "Reminder for {patient}: your visit is on {date} at {time}[ with {doctor}]. Please come ten minutes early.",
      "{doctor} has moved the appointment of {patient} from {old}[ to {time}] on {date}.",
      "Patient: {patient}, born {born}. Next visit: {date}, {time}[, {doctor}].",
      "Could you put {patient} down for {date}[, {time}]? {doctor} knows about it. Room {room} is free.",
      "The practice of {doctor} confirms {date}[ at {time}] for {patient}. Not {old}, as we wrote before.",
    ],
  },
  contact: {
    fields: {
      name: person,
      company: text("Nordwind|Alba Foods|Quarry Bank|Bluefin|Hartmann Tools|Oak and Sons|Solara"),
      city,
      phone: code("555-", 4),
    },
    others: { fax: code("777-", 4), former: text("Redwood|Pico Labs|Stern Media"), stop: text("Rome|Vienna|Madrid") },
    texts: [
      "I met {name} of {company} in {stop}. The office is in {city}[, phone {phone}].",
      "{name}[, {company}], {city}. Tel {phone}, fax {fax}.",
      "Our new partner at {company} is {name}, who has left {former}. Call {phone}[ or visit the office in {city}].",
      "Best regards, {name}\n{company}[, {city}]\nphone {phone}\nfax {fax}",
      "Please add {name}: works for {company} now[, number {phone}], lives in {city}, was at {former}.",
      "{company} sends {name} to us[ from {city}]. Reach them at {phone}. The fax {fax} is out of order.",
    ],
  },
  invoice: {
    fields: {
      invoice: code("R", 5),
      vendor: text("Alpha Print|Kiosk 21|Maple Cleaning|Volt Energy|Pixel Studio|Rapid Couriers"),
      total: amount,
      due: date,
    },
    others: { tax: amount, issued: date, contract: code("C", 5) },
    texts: [
      "Invoice {invoice} from {vendor}: {total}[, payable by {due}]. Contract {contract}.",
      "{vendor} charges us {total}, of which {tax} is tax. Number {invoice}[, due {due}].",
      "Please pay {total} to {vendor}[ until {due}] and give the number {invoice}.",
      "Dated {issued}. {vendor}, invoice no. {invoice}. Amount due: {total}[. Due date: {due}].",
      "The bill {invoice} of {issued} is still open: {total}[ for {vendor}]. Last day is {due}.",
      "{invoice} / {vendor} / tax {tax} / total {total}[ / due {due}]",
    ],
  },
  incident: {
    fields: {
      system: text("mail server|web shop|printer|payroll|database|door lock|backup"),
      severity: oneOf("low=minor/low|medium=moderate/medium|high=critical/high"),
      started: time,
      reporter: person,
    },
    others: { ended: time, ticket: code("T", 4), helper: text("Max Stone|Iris Vale|Theo Lund") },
    texts: [
      "{reporter} reports that the {system} has been down since {started}[, severity {severity}]. Ticket {ticket}.",
      "At {started} the {system} failed. It is a {severity} problem[, says {reporter}]. {helper} is looking at it.",
      "Ticket {ticket}: {system}, {severity}[, began {started}], told by {reporter}.",
      "We had a {severity} outage of the {system}[ from {started}], fixed by {ended}. {reporter} noticed it.",
      "{helper} solved it at {ended}: the {system} was broken[ since {started}]. {reporter} called it {severity}.",
      "{severity} / {system} / since {started}[ / from {reporter}] / assigned to {helper}",
    ],
  },
  delivery: {
    fields: { parcel: code("P", 5), recipient: person, city, weight: whole(2, 30) },
    others: { sender: text("Tom Hale|Rita Moor|Sven Dahl"), origin: text("Rome|Vienna|Madrid"), price: amount },
    texts: [
      "Parcel {parcel} for {recipient} in {city}[, {weight} kg]. Sent by {sender}.",
      "{sender} sends {weight} kg from {origin} to {city}. Recipient: {recipient}[, parcel {parcel}].",
      "We could not deliver {parcel}[ to {recipient}]. It weighs {weight} kg and is in {city} now.",
      "{recipient} waits for {parcel}[ ({weight} kg)]. It left {origin} for {city}.",
      "From {origin} to {city}: {parcel}, {weight} kg[, for {recipient}]. Postage {price}.",
      "to {recipient}, {city} / no. {parcel}[ / {weight} kg] / from {sender}, {origin}",
    ],
  },
  booking: {
    fields: {
      guest: person,
      hotel: text("Sea View|Park Inn|Golden Lion|Station House|Villa Rosa"),
      arrival: date,
      nights: whole(1, 12),
    },
    others: { price: amount, room: whole(101, 350), made: date },
    texts: [
      "{guest} stays at the {hotel} for {nights} nights[, arriving {arrival}]. Room {room}.",
      "Booking of {made}: {hotel}, {nights} nights from {arrival}[, name {guest}].",
      "Please keep a room at the {hotel} for {guest}[, {nights} nights]. Arrival is {arrival}. Price {price}.",
      "Dear {guest}, we look forward to your stay from {arrival}[ for {nights} nights]. It costs {price} in all. Your {hotel}.",
      "Room {room} of the {hotel} is taken from {arrival}[ by {guest}], {nights} nights.",
      "{hotel} / {guest} / arrival {arrival}[ / {nights} nights] / paid {price}",
    ],
  },
  return: {
    fields: {
      order: code("A", 4),
      item: product,
      reason: oneOf("broken=broken/damaged|late=late/delayed|wrong=wrong/not what was ordered"),
      refund: amount,
    },
    others: { paid: amount, day: date, agent: text("Nina|Oscar|Paul") },
    texts: [
      "The {item} of order {order} came {reason}[. We pay back {refund}]. Handled by {agent}.",
      "Order {order}: the customer returns the {item}, it was {reason}[, refund {refund}]. Paid at first: {paid}.",
      "I want {refund} back[, because the {item} was {reason}]. My order is {order} of {day}.",
      "{agent} has agreed to refund {refund} for the {item}[ of order {order}], which was {reason}.",
      "On {day} the {item} was sent back as {reason}. {refund} will be refunded[ on order {order}].",
      "{order} / {item} / {reason}[ / refund {refund}] / price {paid}",
    ],
  },
};
