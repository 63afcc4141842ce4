import "@mantine/core/styles.css";
import "@mantine/notifications/styles.css";
import "@mantine/spotlight/styles.css";
import "./app/theme.css";
import { MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { openApi } from "./api/api.ts";
import { App } from "./app/app.tsx";
import { HoneProvider } from "./app/hone-context.tsx";
import { ThemeSetting } from "./app/theme-setting.tsx";
import { theme } from "./app/theme.ts";
import { setLanguage, startI18n, systemLanguage } from "./i18n/i18n.ts";
import { createAppStore, followApp } from "./stores/app-store.ts";

const store = createAppStore();
const api = openApi((connection) => {
  store.setState({ connection });
});
await startI18n(systemLanguage());
void followApp(api, store);
store.subscribe(({ settings }, before) => {
  if (settings?.language !== before.settings?.language) void setLanguage(settings?.language ?? systemLanguage());
});

const root = document.getElementById("root");
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <MantineProvider theme={theme} defaultColorScheme="auto">
        <HoneProvider api={api} store={store}>
          <ThemeSetting />
          <Notifications position="bottom-right" />
          <App />
        </HoneProvider>
      </MantineProvider>
    </StrictMode>,
  );
}
