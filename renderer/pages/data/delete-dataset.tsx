import { Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { formatCount } from "../../../core/contract/units.ts";
import { useApi } from "../../app/hone-context.tsx";
import { DeleteDialog } from "../../components/delete-dialog.tsx";

interface DeleteDatasetProps {
  dataset: { name: string; rows: number; point: number };
  onClose: () => void;
  onDeleted?: () => void;
}

export function DeleteDataset({ dataset: { name, rows, point }, onClose, onDeleted }: DeleteDatasetProps) {
  const { t } = useTranslation();
  const api = useApi();
  const remove = () => api.call("data.delete", { name }).then(onDeleted);
  return (
    <DeleteDialog title={t("data.delete.title", { name })} remove={remove} onClose={onClose}>
      <Text size="sm">{t("data.delete.text", { rows: formatCount(rows), changes: formatCount(point) })}</Text>
    </DeleteDialog>
  );
}
