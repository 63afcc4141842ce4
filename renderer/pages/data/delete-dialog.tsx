import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { formatCount } from "../../../core/contract/units.ts";
import { useApi } from "../../app/hone-context.tsx";
import { ErrorBox } from "../../components/error-box.tsx";

interface DeleteDialogProps {
  dataset: { name: string; rows: number; point: number };
  onClose: () => void;
  onDeleted?: () => void;
}

export function DeleteDialog({ dataset: { name, rows, point }, onClose, onDeleted }: DeleteDialogProps) {
  const { t } = useTranslation();
  const api = useApi();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const remove = async () => {
    setBusy(true);
    try {
      await api.call("data.delete", { name });
      onClose();
      onDeleted?.();
    } catch (failed) {
      setError(failed);
      setBusy(false);
    }
  };
  return (
    <Modal opened onClose={onClose} title={t("data.delete.title", { name })}>
      <Stack>
        <Text>{t("data.delete.text", { rows: formatCount(rows), changes: formatCount(point) })}</Text>
        {error !== undefined && <ErrorBox error={error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} data-autofocus>
            {t("common.cancel")}
          </Button>
          <Button color="red" loading={busy} onClick={() => void remove()}>
            {t("common.delete")}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
