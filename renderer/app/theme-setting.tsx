import { useMantineColorScheme } from "@mantine/core";
import { useEffect } from "react";
import { useApp } from "./hone-context.tsx";

/** Brings the theme that a person chose to the page. */
export function ThemeSetting() {
  const theme = useApp((state) => state.settings?.theme);
  const { setColorScheme } = useMantineColorScheme();
  useEffect(() => {
    if (theme !== undefined) setColorScheme(theme === "system" ? "auto" : theme);
  }, [theme, setColorScheme]);
  return null;
}
