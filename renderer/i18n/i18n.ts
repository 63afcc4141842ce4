/** Texts of the interface: one file per area and language, found by name. Keys are `area.key`. */

import i18next, { type TFunction } from "i18next";
import { initReactI18next } from "react-i18next";
import type { Settings } from "../../core/contract/api/app-calls.ts";

type Language = NonNullable<Settings["language"]>;
type Texts = Record<string, unknown>;

const files = import.meta.glob<Texts>("./{en,zh}/*.json", { eager: true, import: "default" });

/** `./en/home.json` holds what is below `home`. */
function textsOf(language: Language): Texts {
  return Object.fromEntries(
    Object.entries(files).flatMap(([path, texts]) => {
      const [, folder, area] = /^\.\/(\w+)\/([\w-]+)\.json$/.exec(path) ?? [];
      return folder === language && area !== undefined ? [[area, texts]] : [];
    }),
  );
}

export function systemLanguage(): Language {
  return navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

export async function startI18n(language: Language): Promise<TFunction> {
  return i18next.use(initReactI18next).init({
    lng: language,
    fallbackLng: "en",
    resources: { en: { translation: textsOf("en") }, zh: { translation: textsOf("zh") } },
    interpolation: { escapeValue: false },
    returnNull: false,
  });
}

export async function setLanguage(language: Language): Promise<void> {
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  await i18next.changeLanguage(language);
}

/** A point in time as it is written in the language of the window; of its regions the one that the system has. */
export function formatTime(time: number | string): string {
  const { language } = i18next;
  const region = navigator.languages.find((one) => one.startsWith(language)) ?? language;
  return new Date(time).toLocaleString(region);
}
