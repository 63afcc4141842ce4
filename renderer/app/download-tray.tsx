/** What is being downloaded, seen from every page. */

import { Button, Indicator, Popover, Stack, UnstyledButton } from "@mantine/core";
import { Download as DownloadIcon } from "lucide-react";
import { useTranslation } from "react-i18next";
import { Link } from "wouter";
import { DownloadCard } from "../components/download-card.tsx";
import { isUnderWay } from "../stores/app-store.ts";
import { useApp } from "./hone-context.tsx";

/** Of those that need nobody any more, so many are shown. */
const keptEnded = 3;

export function DownloadTray() {
  const { t } = useTranslation();
  const downloads = useApp((state) => state.downloads);
  const open = downloads.filter(({ state }) => state !== "done" && state !== "cancelled");
  const ended = downloads.filter((one) => !open.includes(one)).slice(0, keptEnded);
  const moving = open.filter(isUnderWay).length;
  const failed = open.filter(({ state }) => state === "failed").length;
  if (downloads.length === 0) return null;
  return (
    <Popover width={440} position="bottom-end" shadow="md">
      <Popover.Target>
        <UnstyledButton aria-label={t("hub.tray.open", { count: moving, failed })} p={4} display="flex">
          <Indicator
            disabled={moving + failed === 0}
            label={moving > 0 ? moving : failed}
            size={16}
            color={moving > 0 ? "steel" : "red"}
            offset={2}
          >
            <DownloadIcon size={18} aria-hidden />
          </Indicator>
        </UnstyledButton>
      </Popover.Target>
      <Popover.Dropdown>
        <Stack gap="md" mah="70vh" style={{ overflowY: "auto" }}>
          {[...open, ...ended].map((download) => (
            <DownloadCard key={download.id} download={download} />
          ))}
          <Button component={Link} href="/models/downloads" variant="subtle" size="compact-sm">
            {t("hub.tray.all")}
          </Button>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
