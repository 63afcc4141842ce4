/** Everything by keyboard: Mod+K opens it. Pages, runs, models, and what can be done from anywhere. */

import { ActionIcon, Tooltip } from "@mantine/core";
import { openSpotlight, Spotlight } from "@mantine/spotlight";
import { BookOpen, Boxes, Keyboard, Moon, Search, Sun, Play } from "lucide-react";
import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import type { Settings } from "../../core/contract/api/app-calls.ts";
import { useApi, useCall } from "./hone-context.tsx";
import { pages } from "./pages.tsx";
import { openShortcuts } from "./shortcut-list.tsx";

interface Group {
  group: string;
  actions: { id: string; label: string; description?: string; leftSection: ReactNode; onClick: () => void }[];
}

export function CommandPalette() {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  const api = useApi();
  // Runs and models are looked up when the palette is first opened, not with every start.
  const [wasOpened, setWasOpened] = useState(false);
  const runs = useCall("runs.list", {}, { follow: "runs", enabled: wasOpened });
  const models = useCall("models.list", {}, { follow: "models", enabled: wasOpened });
  const change = (more: Partial<Settings>) => void api.call("settings.set", more);
  const actions: Group[] = [
    {
      group: t("app.find.pages"),
      actions: pages
        .filter(({ hidden }) => hidden !== true)
        .map(({ id, path, icon: Icon }) => ({
          id,
          label: t(`nav.${id}`),
          leftSection: <Icon size={18} aria-hidden />,
          onClick: () => navigate(path.replace("/*?", "")),
        })),
    },
    {
      group: t("app.find.actions"),
      actions: [
        {
          id: "new-run",
          label: t("app.find.train"),
          leftSection: <Play size={18} aria-hidden />,
          onClick: () => navigate("/train"),
        },
        {
          id: "dark",
          label: t("app.find.dark"),
          leftSection: <Moon size={18} aria-hidden />,
          onClick: () => change({ theme: "dark" }),
        },
        {
          id: "light",
          label: t("app.find.light"),
          leftSection: <Sun size={18} aria-hidden />,
          onClick: () => change({ theme: "light" }),
        },
        {
          id: "shortcuts",
          label: t("app.shortcuts.title"),
          leftSection: <Keyboard size={18} aria-hidden />,
          onClick: openShortcuts,
        },
      ],
    },
    {
      group: t("app.find.runs"),
      actions: (runs.value?.runs ?? []).map(({ name, task, model }) => ({
        id: `run ${name}`,
        label: name,
        description: `${task} · ${model}`,
        leftSection: <BookOpen size={18} aria-hidden />,
        onClick: () => navigate(`/runs/${encodeURIComponent(name)}`),
      })),
    },
    {
      group: t("app.find.models"),
      actions: (models.value?.models ?? []).map(({ name, reference, path }) => ({
        id: `model ${reference}`,
        label: name,
        description: path,
        leftSection: <Boxes size={18} aria-hidden />,
        onClick: () => navigate(`/chat?model=${encodeURIComponent(reference)}`),
      })),
    },
  ].filter((group) => group.actions.length > 0);
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
        // Runs and models beside the pages would make the first list endless: they come with the search.
        filter={(query) => find(query, actions, [t("app.find.pages"), t("app.find.actions")])}
        onSpotlightOpen={() => setWasOpened(true)}
        nothingFound={t("app.nothingFound")}
        scrollable
        maxHeight={420}
        searchProps={{ placeholder: t("app.palettePlaceholder"), "aria-label": t("app.palette") }}
      />
    </>
  );
}

/** Every word of the query somewhere in the label or the description. Without a query: only the groups that are `shown`. */
function find(query: string, all: readonly Group[], shown: readonly string[]): Group[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return all
    .filter(({ group }) => words.length > 0 || shown.includes(group))
    .map(({ group, actions }) => ({
      group,
      actions: actions
        .filter(({ label, description }) => {
          const text = `${label} ${description ?? ""}`.toLowerCase();
          return words.every((word) => text.includes(word));
        })
        .slice(0, 20),
    }))
    .filter(({ actions }) => actions.length > 0);
}
