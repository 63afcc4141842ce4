/** Everything by keyboard: Mod+K opens it. */

import { ActionIcon, Tooltip } from "@mantine/core";
import { openSpotlight, Spotlight } from "@mantine/spotlight";
import { Search } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { pages } from "./pages.tsx";

export function CommandPalette() {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  const actions = pages.map(({ id, path, icon: Icon }) => ({
    id,
    label: t(`nav.${id}`),
    leftSection: <Icon size={18} aria-hidden />,
    onClick: () => {
      navigate(path.replace("/*?", ""));
    },
  }));
  return (
    <>
      <Tooltip label={t("app.palette")}>
        <ActionIcon variant="default" onClick={openSpotlight} aria-label={t("app.palette")}>
          <Search size={16} aria-hidden />
        </ActionIcon>
      </Tooltip>
      <Spotlight
        actions={actions}
        shortcut="mod + K"
        nothingFound={t("app.nothingFound")}
        searchProps={{ placeholder: t("app.palettePlaceholder"), "aria-label": t("app.palette") }}
      />
    </>
  );
}
