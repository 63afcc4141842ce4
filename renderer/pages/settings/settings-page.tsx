import { useTranslation } from "react-i18next";
import { Page } from "../../components/page.tsx";

export default function SettingsPage() {
  const { t } = useTranslation();
  return <Page title={t("nav.settings")}>{null}</Page>;
}
