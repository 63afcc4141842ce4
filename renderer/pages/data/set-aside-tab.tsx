/** What could not be imported: each row can be mended and added. */

import { Text } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { DatasetView, SetAsideView } from "../../../core/contract/api/data-calls.ts";
import { useCall } from "../../app/hone-context.tsx";
import { LoadedView } from "../../components/loaded-view.tsx";
import { NewRowDialog } from "./new-row-dialog.tsx";
import { SetAsideList } from "./set-aside-list.tsx";
import type { Changes } from "./use-changes.ts";

export function SetAsideTab({ view: { name }, changes }: { view: DatasetView; changes: Changes }) {
  const { t } = useTranslation();
  const loaded = useCall("data.set_aside", { name });
  const [mending, setMending] = useState<SetAsideView>();
  const [mended, setMended] = useState<readonly number[]>([]);
  return (
    <LoadedView of={loaded}>
      {({ total, entries }) => (
        <>
          <Text className="hone-muted">{t("data.aside.lead")}</Text>
          {mended.length > 0 && <Text role="status">{t("data.aside.mended", { rows: mended.join(", ") })}</Text>}
          <SetAsideList entries={entries} total={total} onMend={setMending} />
          {mending !== undefined && (
            <NewRowDialog
              changes={changes}
              record={mending.record ?? {}}
              hint={[mending.what, mending.fix].filter((part) => part !== null).join("; ")}
              onClose={() => setMending(undefined)}
              onAdded={() => setMended([...mended, mending.row])}
            />
          )}
        </>
      )}
    </LoadedView>
  );
}
