/** The one theme: every colour, size and distance that pages use comes from here (`theme.css` has the tokens). */

import { createTheme, type MantineColorsTuple } from "@mantine/core";

/** Steel blue; 6 is the filled button in light, 5 in dark. Both have a contrast of at least 4.5 with white. */
const steel: MantineColorsTuple = [
  "#eef4fb",
  "#d9e5f3",
  "#b0c9e6",
  "#84abd9",
  "#5f91cd",
  "#477fc4",
  "#2f6db3",
  "#255b99",
  "#1c4a80",
  "#113963",
];

/** Of the dark theme: 0 text … 4 lines, 6 fields, 7 surface, 8 ground; blue-grey as the tokens of `theme.css`. */
const slate: MantineColorsTuple = [
  "#e4e7ec",
  "#c8ced7",
  "#a9b2bf",
  "#98a2b0",
  "#3b424e",
  "#2f353f",
  "#252a33",
  "#1c2026",
  "#14171b",
  "#0e1013",
];

export const theme = createTheme({
  primaryColor: "steel",
  colors: { steel, dark: slate },
  primaryShade: { light: 6, dark: 6 },
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Noto Sans SC", "PingFang SC", sans-serif',
  fontFamilyMonospace: 'ui-monospace, "SF Mono", "Cascadia Mono", "JetBrains Mono", Menlo, Consolas, monospace',
  defaultRadius: "md",
  cursorType: "pointer",
  respectReducedMotion: true,
  fontSizes: { xs: "0.75rem", sm: "0.8125rem", md: "0.875rem", lg: "1rem", xl: "1.25rem" },
  components: {
    // Its colour on its own tint is too faint for text; the icon keeps it.
    Alert: { styles: { title: { color: "var(--mantine-color-text)" } } },
    Badge: { defaultProps: { tt: "none" } },
    Button: { defaultProps: { size: "sm" } },
    TextInput: { defaultProps: { size: "sm" } },
    Select: { defaultProps: { size: "sm", allowDeselect: false } },
    NumberInput: { defaultProps: { size: "sm" } },
    Tooltip: { defaultProps: { withArrow: true, openDelay: 300, multiline: true, maw: 320 } },
    Table: { defaultProps: { verticalSpacing: 6 } },
  },
});
