/** The tools of the task: two to a domain, with the requests that people make of them. */

import type { ToolDefinition } from "../../contract/chat.ts";
import { code, date, minutes, oneOf, optional, text, time, whole, type Parameter } from "./values.ts";

export interface DomainTool {
  definition: ToolDefinition;
  parameters: Parameter[];
  /** A name that the tool does not have. */
  misnomer: string;
  /** With `{parameter}` where a value is said. What stands in brackets may be left out. */
  requests: string[];
}

function tool(
  name: string,
  misnomer: string,
  description: string,
  parameters: Parameter[],
  ...requests: string[]
): DomainTool {
  const properties = Object.fromEntries(parameters.map((parameter) => [parameter.name, parameter.schema]));
  const required = parameters.filter((parameter) => parameter.optional !== true).map((parameter) => parameter.name);
  return {
    definition: {
      type: "function",
      function: { name, description, parameters: { type: "object", properties, required } },
    },
    parameters,
    misnomer,
    requests,
  };
}

const cities = "Lisbon, Oslo, Graz, Lyon, Porto, Turin, Ghent, Bergen, Malaga, Leipzig";
const people = "Ana, Bruno, Chen, Dora, Emil, Farah, Goran, Hana, Ivo, Jamila";
const rooms = "kitchen=Kitchen room, bedroom=sleeping room, hall=hallway, office=study";

/** No two have a tool in common. */
export const domains: Readonly<Record<string, readonly [DomainTool, DomainTool]>> = {
  timers: [
    tool(
      "set_timer",
      "start_countdown",
      "Start a timer.",
      [minutes(), text("label", "tea, pasta, bread, laundry, nap")],
      "Start a timer of {minutes} for the {label}.",
      "Remind me about the {label}[ in {minutes}].",
    ),
    tool(
      "stop_timer",
      "kill_timer",
      "Stop a timer.",
      [text("label", "tea, pasta, bread, laundry, nap")],
      "Stop the timer for the {label}.",
      "I no longer need the {label} timer.",
    ),
  ],
  tables: [
    tool(
      "book_table",
      "reserve_seats",
      "Book a table.",
      [whole("people", 1, 12), date(), time()],
      "A table for {people} on {date} at {time}, please.",
      "Book us in for dinner, {people} of us[, on {date}] at {time}.",
    ),
    tool(
      "cancel_table",
      "delete_booking",
      "Cancel a booking.",
      [code("booking", "T")],
      "Please cancel booking {booking}.",
      "We cannot come: {booking}.",
    ),
  ],
  music: [
    tool(
      "play_song",
      "start_music",
      "Play a song.",
      [text("title", "Blue Hour, Night Train, Paper Moon, Green Door, Slow River"), optional(whole("volume", 1, 10))],
      "Play {title}.",
      "Play {title} at volume {volume}.",
    ),
    tool(
      "make_playlist",
      "new_list",
      "Make a playlist.",
      [text("name", "Sunday, Road, Focus, Party"), oneOf("mood", "calm=relaxed, happy=joyful, sad=gloomy")],
      "Make a {mood} playlist called {name}.",
      "I want a playlist named {name}[, something {mood}].",
    ),
  ],
  weather: [
    tool(
      "get_forecast",
      "weather_lookup",
      "Weather of the next days.",
      [text("city", cities), whole("days", 1, 7), optional(oneOf("unit", "celsius=C, fahrenheit=F"))],
      "What will the weather in {city} be for {days} days?",
      "The next {days} days in {city}, in {unit}.",
    ),
    tool(
      "get_air_quality",
      "check_air",
      "Air quality of a day.",
      [text("city", cities), date()],
      "How clean is the air in {city} on {date}?",
      "Air quality on {date}[ in {city}], please.",
    ),
  ],
  heating: [
    tool(
      "set_temperature",
      "change_heat",
      "Set a room's temperature.",
      [oneOf("room", rooms), whole("celsius", 10, 28)],
      "Make it {celsius} degrees in the {room}.",
      "Heat the {room}[ to {celsius} degrees].",
    ),
    tool(
      "set_heating_start",
      "heat_from",
      "When heating starts.",
      [oneOf("room", rooms), time()],
      "Heat the {room} from {time}.",
      "The {room} should be warm[ by {time}].",
    ),
  ],
  lights: [
    tool(
      "set_light",
      "adjust_lamp",
      "Set a room's light.",
      [
        oneOf("room", rooms),
        whole("percent", 5, 100, 5),
        optional(oneOf("color", "warm=yellowish, cold=bluish, red=crimson")),
      ],
      "Light in the {room} to {percent} percent.",
      "Make the {room} light {color} at {percent} percent.",
    ),
    tool(
      "lights_off",
      "turn_dark",
      "Switch lights off.",
      [oneOf("room", rooms), optional(time("until"))],
      "No light in the {room}, please.",
      "Lights off in the {room} until {until}.",
    ),
  ],
  calendar: [
    tool(
      "create_event",
      "add_meeting",
      "Add an event.",
      [text("title", "Budget, Review, Planning, Interview, Demo"), date(), minutes()],
      "Put {title} on {date} for {minutes}.",
      "Plan {title}[ on {date}], it takes {minutes}.",
    ),
    tool(
      "move_event",
      "shift_meeting",
      "Move an event.",
      [text("title", "Budget, Review, Planning, Interview, Demo"), date()],
      "Move {title} to {date}.",
      "{title} has to be on {date} now.",
    ),
  ],
  mail: [
    tool(
      "send_mail",
      "email_person",
      "Send a mail.",
      [text("to", people), text("subject", "Invoice, Holiday, Contract, Lunch, Minutes")],
      "Write to {to} about {subject}.",
      "Send a mail with the subject {subject}[ to {to}].",
    ),
    tool(
      "label_mail",
      "tag_message",
      "Label mails.",
      [text("sender", people), oneOf("label", "urgent=very important, later=someday, private=personal")],
      "Mark mails from {sender} as {label}.",
      "Everything from {sender} is {label}.",
    ),
  ],
  shop: [
    tool(
      "add_to_cart",
      "put_in_basket",
      "Add items to the cart.",
      [text("item", "lamp, desk, kettle, blanket, chair, mirror"), whole("quantity", 1, 20)],
      "I take {quantity} of the {item}.",
      "Put the {item} in my cart[, {quantity} of them].",
    ),
    tool(
      "track_parcel",
      "where_is_package",
      "Where a parcel is.",
      [code("parcel", "P")],
      "Where is parcel {parcel}?",
      "Has {parcel} been sent?",
    ),
  ],
  bank: [
    tool(
      "transfer_money",
      "pay_person",
      "Send money.",
      [text("to", people), whole("amount", 5, 500, 5), oneOf("currency", "EUR=euros, USD=dollars, GBP=pounds")],
      "Send {amount} {currency} to {to}.",
      "{to} gets {amount} {currency} from me.",
    ),
    tool(
      "block_card",
      "freeze_plastic",
      "Block a card.",
      [code("card", ""), oneOf("reason", "lost=gone, stolen=theft, broken=damaged")],
      "Card {card} was {reason}, block it.",
      "Block card {card}[, it is {reason}].",
    ),
  ],
  travel: [
    tool(
      "find_train",
      "search_rail",
      "Find trains.",
      [text("from", "Lisbon, Oslo, Graz, Lyon, Porto"), text("to", "Turin, Ghent, Bergen, Malaga, Leipzig"), date()],
      "Trains from {from} to {to} on {date}.",
      "I go from {from} to {to}[ on {date}].",
    ),
    tool(
      "book_hotel",
      "get_room",
      "Book a hotel.",
      [
        text("city", cities),
        whole("nights", 1, 14),
        optional(oneOf("board", "breakfast=morning meal, half=half-board, full=all meals")),
      ],
      "A hotel in {city} for {nights} nights.",
      "{nights} nights in {city} with {board} board.",
    ),
  ],
  health: [
    tool(
      "log_weight",
      "save_kilos",
      "Record a weight.",
      [whole("kilograms", 45, 110), date()],
      "I weighed {kilograms} kilograms on {date}.",
      "Note my weight of {date}[: {kilograms} kilograms].",
    ),
    tool(
      "book_doctor",
      "see_physician",
      "Make an appointment.",
      [oneOf("specialty", "dentist=teeth, skin=dermatology, eyes=optician"), date()],
      "An appointment for {specialty} on {date}.",
      "I need a doctor on {date}[, {specialty}].",
    ),
  ],
  library: [
    tool(
      "renew_book",
      "extend_loan",
      "Renew a loan.",
      [text("title", "Dune, Emma, Ulysses, Beloved, Momo"), whole("weeks", 1, 4)],
      "Renew {title} for {weeks} weeks.",
      "I need {title} longer[, {weeks} weeks].",
    ),
    tool(
      "reserve_room",
      "get_study_space",
      "Reserve a study room.",
      [whole("seats", 2, 10), time(), date()],
      "A study room with {seats} seats on {date} at {time}.",
      "We need {seats} seats on {date}[ at {time}].",
    ),
  ],
  tickets: [
    tool(
      "open_ticket",
      "report_bug",
      "Open a ticket.",
      [
        text("subject", "printer, login, screen, network, backup"),
        oneOf("priority", "low=minor, normal=medium, high=critical"),
      ],
      "The {subject} fails, {priority} priority.",
      "Open a ticket about the {subject}[, priority {priority}].",
    ),
    tool(
      "close_ticket",
      "finish_issue",
      "Close a ticket.",
      [whole("number", 100, 999), oneOf("outcome", "solved=fixed, duplicate=same as another, rejected=refused")],
      "Ticket {number} is {outcome}, close it.",
      "Close {number} as {outcome}.",
    ),
  ],
  refunds: [
    tool(
      "refund_order",
      "give_money_back",
      "Refund an order.",
      [
        code("order", "A"),
        whole("amount", 5, 300),
        oneOf("reason", "damaged=broken, late=delay, wrong_item=other article"),
      ],
      "Refund {amount} on order {order}: {reason}.",
      "Order {order}, {reason}[: pay back {amount}].",
    ),
    tool(
      "change_address",
      "set_destination",
      "Change where an order goes.",
      [code("order", "A"), text("city", cities)],
      "Send order {order} to {city} instead.",
      "Order {order} goes to another city[, {city}].",
    ),
  ],
  fitness: [
    tool(
      "start_workout",
      "begin_training",
      "Start a workout.",
      [oneOf("sport", "running=jogging, yoga=stretching, rowing=boat"), minutes()],
      "Start {sport} for {minutes}.",
      "Now {sport}[, {minutes} of it].",
    ),
    tool(
      "set_step_goal",
      "walk_target",
      "Set a daily goal.",
      [whole("steps", 2000, 20000, 500), optional(date("from"))],
      "My goal is {steps} steps a day.",
      "From {from} I want {steps} steps a day.",
    ),
  ],
  files: [
    tool(
      "share_file",
      "give_access",
      "Share a file.",
      [
        text("file", "plan.pdf, notes.txt, budget.csv, photo.png"),
        text("person", people),
        oneOf("access", "read=view, write=edit, none=blocked"),
      ],
      "Give {person} {access} access to {file}.",
      "{person} needs {file}[ with {access} access].",
    ),
    tool(
      "rename_file",
      "change_filename",
      "Rename a file.",
      [text("file", "plan.pdf, notes.txt, budget.csv"), text("name", "final.pdf, draft.txt, table.csv, old.txt")],
      "Call {file} {name} from now on.",
      "Rename {file}[ to {name}].",
    ),
  ],
  car: [
    tool(
      "start_charging",
      "fill_battery",
      "Charge the car.",
      [whole("percent", 50, 100, 5), optional(time("until"))],
      "Charge the car to {percent} percent.",
      "I leave at {until}, charge to {percent} percent until then.",
    ),
    tool(
      "find_parking",
      "locate_garage",
      "Find a parking space.",
      [text("city", cities), whole("hours", 1, 12)],
      "I park in {city} for {hours} hours.",
      "Find a parking space in {city}[ for {hours} hours].",
    ),
  ],
  language: [
    tool(
      "translate_word",
      "convert_text",
      "Translate a word.",
      [text("word", "bridge, winter, bread, garden, spoon"), oneOf("language", "french=fr, german=de, spanish=es")],
      "What is {word} in {language}?",
      "Translate {word}[ into {language}].",
    ),
    tool(
      "plan_lesson",
      "schedule_class",
      "Plan a lesson.",
      [oneOf("language", "french=fr, german=de, spanish=es"), date(), minutes()],
      "A {language} lesson on {date}, {minutes}.",
      "I want to learn {language}[ on {date}] for {minutes}.",
    ),
  ],
  garden: [
    tool(
      "water_plants",
      "irrigate",
      "Water a part of the garden.",
      [oneOf("zone", "lawn=grass, roses=flowers, herbs=spices"), minutes()],
      "Water the {zone} for {minutes}.",
      "The {zone} need water[ for {minutes}].",
    ),
    tool(
      "order_seeds",
      "buy_plants",
      "Order seeds.",
      [text("plant", "basil, tomato, carrot, pepper, lettuce"), whole("grams", 10, 200, 10)],
      "Order {grams} grams of {plant} seeds.",
      "We need {plant} seeds[, {grams} grams].",
    ),
  ],
};

/** For a request that leaves something open. */
export const askUser: ToolDefinition = {
  type: "function",
  function: {
    name: "ask_user",
    description: "Ask for a required value that the request lacks.",
    parameters: { type: "object", properties: { missing: { type: "string" } }, required: ["missing"] },
  },
};

/** For a request that asks for nothing, or not now. */
export const noAction: ToolDefinition = {
  type: "function",
  function: {
    name: "no_action",
    description: "When nothing is to be done.",
    parameters: { type: "object", properties: {} },
  },
};

const definitions = new Map(
  [...Object.values(domains).flatMap((tools) => tools.map(({ definition }) => definition)), askUser, noAction].map(
    (definition) => [definition.function.name, definition],
  ),
);

export function findTool(name: string): ToolDefinition | undefined {
  return definitions.get(name);
}
