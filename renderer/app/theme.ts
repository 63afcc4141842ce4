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

export const theme = createTheme({
  primaryColor: "steel",
  colors: { steel },
  primaryShade: { light: 6, dark: 6 },
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Noto Sans SC", "PingFang SC", sans-serif',
  fontFamilyMonospace: 'ui-monospace, "SF Mono", "Cascadia Mono", "JetBrains Mono", Menlo, Consolas, monospace',
  defaultRadius: "md",
  cursorType: "pointer",
  respectReducedMotion: true,
  fontSizes: { xs: "0.75rem", sm: "0.8125rem", md: "0.875rem", lg: "1rem", xl: "1.25rem" },
  components: {
    Badge: { defaultProps: { tt: "none" } },
    Button: { defaultProps: { size: "sm" } },
    TextInput: { defaultProps: { size: "sm" } },
    Select: { defaultProps: { size: "sm", allowDeselect: false } },
    NumberInput: { defaultProps: { size: "sm" } },
    Tooltip: { defaultProps: { withArrow: true, openDelay: 300, multiline: true, maw: 320 } },
    Table: { defaultProps: { verticalSpacing: 6 } },
  },
});
