import { useTranslation } from "react-i18next";
import type { LessonText } from "../../../core/contract/lesson.ts";

/** A lesson's text in the language of the interface. */
export function useLessonText(): (text: LessonText) => string {
  const { i18n } = useTranslation();
  return ({ en, zh }) => (i18n.language.startsWith("zh") ? (zh ?? en) : en);
}
