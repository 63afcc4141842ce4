/** Deleting a model: exactly what goes, what stays because others need it, and what is free afterwards. */

import { Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { LocalModel } from "../../../core/contract/hub.ts";
import { formatBytes } from "../../../core/contract/units.ts";
import { useApi, useCall } from "../../app/hone-context.tsx";
import { DeleteDialog } from "../../components/delete-dialog.tsx";
import { LoadedView } from "../../components/loaded-view.tsx";
import classes from "./models.module.css";

interface RemoveDialogProps {
  model: Pick<LocalModel, "reference" | "name" | "kind">;
  onClose: () => void;
  onRemoved: () => void;
}

export function RemoveDialog({ model: { reference, name, kind }, onClose, onRemoved }: RemoveDialogProps) {
  const { t } = useTranslation();
  const api = useApi();
  const plan = useCall("models.plan_removal", { reference, kind });
  const remove = async () => {
    await api.call("models.remove", { reference, kind });
    onRemoved();
  };
  return (
    <DeleteDialog
      title={t("models.remove.title", { name })}
      size="lg"
      ready={plan.value !== undefined}
      remove={remove}
      onClose={onClose}
    >
      <LoadedView of={plan}>
        {({ paths, kept_paths: kept, bytes }) => (
          <>
            <Text size="sm">{t("models.remove.goes", { count: paths.length })}</Text>
            <ul className={classes.paths} tabIndex={0} aria-label={t("models.remove.list")}>
              {paths.map((path) => (
                <li key={path}>{path}</li>
              ))}
            </ul>
            {kept.length > 0 && (
              <Text size="sm" className="hone-muted">
                {t("models.remove.kept", { count: kept.length })}
              </Text>
            )}
            <Text size="sm" fw={600}>
              {t("models.remove.frees", { bytes: formatBytes(bytes) })}
            </Text>
          </>
        )}
      </LoadedView>
    </DeleteDialog>
  );
}
