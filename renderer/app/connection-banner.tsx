import { Alert } from "@mantine/core";
import { Unplug } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useApp } from "./hone-context.tsx";

/** Work goes on in Hone while a window has lost it; this says so. */
export function ConnectionBanner() {
  const { t } = useTranslation();
  const connection = useApp((state) => state.connection);
  if (connection !== "lost" && connection !== "gone") return null;
  return (
    <Alert color="orange" icon={<Unplug size={18} aria-hidden />} mb="md" role="status">
      {t(`app.${connection}`)}
    </Alert>
  );
}
