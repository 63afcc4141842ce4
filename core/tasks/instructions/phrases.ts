/** Sentences to build answers from: no commas, and the topic's word in the first of each list. */

export const languages = { en: "English", de: "German", fr: "French", es: "Spanish" } as const;
export type Language = keyof typeof languages;

interface Bank {
  /** The topic in this language. */
  word: string;
  sentences: readonly string[];
}

/** Sentences are divided by bars. */
function bank(word: string, sentences: string): Bank {
  return { word, sentences: sentences.split("|") };
}

export const topics: Readonly<Record<string, Readonly<Record<Language, Bank>>>> = {
  rain: {
    en: bank(
      "rain",
      "The rain falls on the roof.|Children jump into the puddles.|The streets are wet and quiet.|A warm coat helps on such days.|Farmers are glad about the water.",
    ),
    de: bank(
      "Regen",
      "Der Regen fällt auf das Dach.|Die Kinder sind nass und froh.|Das Wasser ist gut für die Felder.",
    ),
    fr: bank("pluie", "La pluie tombe sur le toit.|Les enfants sont dans la rue.|Un manteau est utile pour sortir."),
    es: bank(
      "lluvia",
      "La lluvia cae sobre el techo.|Los campos están verdes y frescos.|El agua es buena para las plantas.",
    ),
  },
  bread: {
    en: bank(
      "bread",
      "Fresh bread smells of the morning.|The baker starts work at four.|A good crust needs a hot oven.|Butter melts on a warm slice.|Old loaves make fine soup.",
    ),
    de: bank("Brot", "Das Brot ist noch warm.|Der Bäcker arbeitet in der Nacht.|Die Kruste ist dunkel und hart."),
    fr: bank("pain", "Le pain est encore chaud.|Le boulanger travaille dans la nuit.|La farine est sur la table."),
    es: bank("pan", "El pan está caliente en la mesa.|La harina es blanca y fina.|El horno de la casa es viejo."),
  },
  train: {
    en: bank(
      "train",
      "The train leaves at noon.|People read beside the window.|Hills and rivers pass by outside.|A child counts the bridges.|The next station is near.",
    ),
    de: bank("Zug", "Der Zug fährt in die Stadt.|Die Reise ist lang und schön.|Das Fenster ist nicht offen."),
    fr: bank("train", "Le train part pour la ville.|Les voyageurs sont dans la gare.|Une femme lit un journal."),
    es: bank("tren", "El tren sale de la ciudad.|Los viajeros miran el paisaje.|La estación está en el centro."),
  },
  garden: {
    en: bank(
      "garden",
      "The garden wakes up in spring.|Bees visit the blue flowers.|Tomatoes grow along the wall.|An old gate keeps the goats out.|We drink tea under the tree.",
    ),
    de: bank("Garten", "Der Garten ist im Sommer grün.|Die Blumen sind rot und gelb.|Das Gras ist noch nass."),
    fr: bank("jardin", "Le jardin est beau en été.|Les fleurs sont dans la terre.|Un oiseau chante sur la branche."),
    es: bank(
      "jardín",
      "El jardín es un lugar tranquilo.|Las flores están en la sombra.|Los pájaros cantan por la mañana.",
    ),
  },
  sleep: {
    en: bank(
      "sleep",
      "Good sleep makes a good day.|A dark room helps most people.|Screens keep the mind awake.|Dreams come late in the night.|A short nap can help too.",
    ),
    de: bank(
      "Schlaf",
      "Der Schlaf ist gut für den Kopf.|Das Zimmer ist dunkel und kühl.|Die Nacht ist nicht lang genug.",
    ),
    fr: bank(
      "sommeil",
      "Le sommeil est bon pour la santé.|La chambre est calme et sombre.|Les rêves sont dans la nuit.",
    ),
    es: bank("sueño", "El sueño es bueno para la salud.|La noche está en calma.|Las luces de la casa están apagadas."),
  },
  coffee: {
    en: bank(
      "coffee",
      "Hot coffee starts many mornings.|The beans grow in warm hills.|Some people add milk and sugar.|A small cup is often enough.|The smell fills the kitchen.",
    ),
    de: bank("Kaffee", "Der Kaffee ist heiß und stark.|Die Tasse steht auf dem Tisch.|Das Café ist in der Stadt."),
    fr: bank("café", "Le café est chaud et fort.|Une tasse est sur la table.|Les grains sont dans le sac."),
    es: bank("café", "El café está caliente en la taza.|Los granos son de la montaña.|Una taza es suficiente para mí."),
  },
  winter: {
    en: bank(
      "winter",
      "In winter the lake is frozen.|Snow covers the small village.|The days are short and bright.|Smoke rises from every house.|Skaters meet on the ice.",
    ),
    de: bank("Winter", "Der Winter ist kalt und lang.|Das Dorf ist unter dem Schnee.|Die Kinder sind auf dem Eis."),
    fr: bank("hiver", "En hiver le lac est gelé.|La neige est dans les rues.|Les jours sont courts et clairs."),
    es: bank(
      "invierno",
      "En invierno el lago está helado.|La nieve es blanca en la calle.|Los días son cortos y claros.",
    ),
  },
  music: {
    en: bank(
      "music",
      "Soft music fills the hall.|A girl plays the violin.|The old song is easy to learn.|Everyone claps at the end.|The drums begin slowly.",
    ),
    de: bank("Musik", "Die Musik ist leise und schön.|Das Lied ist nicht neu.|Der Saal ist voll und warm."),
    fr: bank(
      "musique",
      "La musique est dans la salle.|Une fille joue du violon.|Les chansons sont pour tout le monde.",
    ),
    es: bank("música", "La música está en el aire.|Una niña toca el violín.|Las canciones son para todos."),
  },
  market: {
    en: bank(
      "market",
      "The market opens at dawn.|Ripe apples lie in wooden boxes.|A man sells cheese and honey.|Prices fall before the evening.|Neighbours stop for a talk.",
    ),
    de: bank("Markt", "Der Markt ist in der Altstadt.|Die Äpfel sind rot und süß.|Das Obst kommt von dem Land."),
    fr: bank("marché", "Le marché est sur la place.|Les pommes sont dans la caisse.|Un homme vend du fromage."),
    es: bank("mercado", "El mercado está en la plaza.|Las manzanas son de la región.|Un hombre vende queso y miel."),
  },
  library: {
    en: bank(
      "library",
      "The library is a quiet place.|Tall shelves hold many books.|Students work until the evening.|A lamp stands on each desk.|Lending is free for all.",
    ),
    de: bank(
      "Bibliothek",
      "Die Bibliothek ist ein stiller Ort.|Das Buch ist auf dem Tisch.|Der Leser hat viel Zeit und Ruhe.",
    ),
    fr: bank(
      "bibliothèque",
      "La bibliothèque est un lieu calme.|Les livres sont sur la table.|Une lampe est dans le coin.",
    ),
    es: bank(
      "biblioteca",
      "La biblioteca es un lugar tranquilo.|Los libros están en la mesa.|Una lámpara está en el rincón.",
    ),
  },
};

/** What every language needs besides. */
export const stock: Readonly<
  Record<Language, { starts: string[]; ends: string[]; questions: string[]; dedication: string }>
> = {
  en: {
    starts: ["Today", "Often", "Here", "Sometimes"],
    ends: ["That is all.", "Think about it.", "See for yourself."],
    questions: ["Do you agree?", "What do you think?"],
    dedication: "This is for [name].",
  },
  de: {
    starts: ["Denn", "Doch", "Nur"],
    ends: ["Das ist alles.", "Mehr ist es nicht."],
    questions: ["Ist das nicht schön?"],
    dedication: "Das ist für [name].",
  },
  fr: {
    starts: ["Souvent", "Ici", "Parfois"],
    ends: ["C'est tout pour le moment.", "Le reste est dans les livres."],
    questions: ["Est-ce que c'est vrai?"],
    dedication: "C'est pour [name].",
  },
  es: {
    starts: ["Hoy", "Siempre", "Aquí"],
    ends: ["Eso es todo por hoy.", "El resto está en los libros."],
    questions: ["¿No es así?"],
    dedication: "Esto es para [name].",
  },
};

const functionWords: Record<Language, Set<string>> = {
  en: new Set("the a an is are of and to in on it at for with that this we you by from".split(" ")),
  de: new Set("der die das ist sind und nicht ein eine in auf dem den von für es im zu mit noch".split(" ")),
  fr: new Set("le la les est sont et un une dans sur de du des pour en il elle ne pas ce que".split(" ")),
  es: new Set("el la los las es son está están y un una en de del para por con no que su".split(" ")),
};

/** The language whose function words are most frequent; undefined when there are none or two languages are even. */
export function languageOf(text: string): Language | undefined {
  const words = Array.from(text.toLowerCase().matchAll(/\p{L}+/gu), ([word]) => word);
  const counts = (Object.keys(functionWords) as Language[]).map((language) => ({
    language,
    count: words.filter((word) => functionWords[language].has(word)).length,
  }));
  const [first, second] = counts.toSorted((a, b) => b.count - a.count);
  return first.count > second.count ? first.language : undefined;
}
