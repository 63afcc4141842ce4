/** Says when a download has come to its end or cannot go on, wherever the person is in the app. */

import { Anchor, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import { downloadName } from "../components/download-card.tsx";
import { isUnderWay } from "../stores/app-store.ts";
import { useApp } from "./hone-context.tsx";

export function DownloadNotices() {
  const { t } = useTranslation();
  const downloads = useApp((state) => state.downloads);
  const before = useRef<ReadonlySet<string>>(new Set());
  useEffect(() => {
    for (const download of downloads) {
      const { id, state, ref, error } = download;
      if (!before.current.has(id) || (state !== "done" && state !== "failed")) continue;
      const isModel = ref.kind === "model";
      notifications.show({
        id,
        title: t(`hub.notice.${state}`, { name: downloadName(download) }),
        message:
          state === "failed" ? (
            <>
              <Text size="sm">{error?.message}</Text>
              {/* Outside of the router, where notices are drawn. */}
              <Anchor size="sm" href="#/models/downloads">
                {t("hub.notice.look")}
              </Anchor>
            </>
          ) : isModel ? (
            <Anchor size="sm" href={`#/chat?model=${encodeURIComponent(downloadName(download))}`}>
              {t("hub.open.chat")}
            </Anchor>
          ) : null,
        color: state === "done" ? "teal" : "red",
        autoClose: state === "failed" ? false : 8000,
        closeButtonProps: { "aria-label": t("common.close") },
      });
    }
    before.current = new Set(downloads.filter(isUnderWay).map(({ id }) => id));
  }, [downloads, t]);
  return null;
}
