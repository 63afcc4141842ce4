import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";

/** A new page is announced by its title, and the keyboard goes on from its beginning. Not for the first page. */
export function useFocusOnPage(area: string): void {
  const { t } = useTranslation();
  const before = useRef(area);
  useEffect(() => {
    document.title = area === "" ? "Hone" : `${t(`nav.${area}`, { defaultValue: area })} · Hone`;
    if (before.current === area) return;
    before.current = area;
    document.getElementById("main")?.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }, [area, t]);
}
