import { useTranslation } from "react-i18next";
import { Page } from "../../components/page.tsx";

export default function TasksPage() {
  const { t } = useTranslation();
  return <Page title={t("nav.tasks")}>{null}</Page>;
}
