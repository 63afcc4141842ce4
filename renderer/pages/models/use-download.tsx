/** The download of one thing: begun from here, and followed wherever it was begun. */

import type { ReactNode } from "react";
import { useLocation } from "wouter";
import { useEffect, useRef, useState } from "react";
import type { Download, RepoRef } from "../../../core/contract/hub.ts";
import { useApi, useApp } from "../../app/hone-context.tsx";
import { downloadName } from "../../components/download-card.tsx";
import { useAction } from "../../components/use-action.tsx";

interface OneDownload {
  /** `opens`: goes to the chat with it when it is here, if the person is still on this page. */
  start: (options?: { opens?: boolean }) => void;
  /** Undefined where there is none, or it was cancelled. */
  download: Download | undefined;
  busy: boolean;
  problem: ReactNode;
}

export function useDownload(
  ref: RepoRef,
  choice: { quant?: string | null; config?: string; split?: string } = {},
): OneDownload {
  const api = useApi();
  const [, navigate] = useLocation();
  const { run, busy, problem } = useAction();
  const [opens, setOpens] = useState(false);
  const download = useApp(({ downloads }) =>
    downloads.find(
      (one) =>
        one.state !== "cancelled" &&
        one.ref.source === ref.source &&
        one.ref.kind === ref.kind &&
        one.ref.id === ref.id &&
        one.ref.revision === ref.revision &&
        (choice.quant === undefined || choice.quant === null || one.quant === choice.quant),
    ),
  );
  const wasMoving = useRef(false);
  useEffect(() => {
    if (download?.state === "done" && wasMoving.current && opens) {
      navigate(`/chat?model=${encodeURIComponent(downloadName(download))}`);
    }
    wasMoving.current = download !== undefined && download.state !== "done";
  }, [download, opens, navigate]);
  return {
    start: ({ opens: wanted = ref.kind === "model" } = {}) => {
      setOpens(wanted);
      run(() => api.call("hub.download", { ref, ...choice }));
    },
    download,
    busy,
    problem,
  };
}
