import { useTranslation } from "react-i18next";
import { Page } from "../../components/page.tsx";

export default function ModelsPage() {
  const { t } = useTranslation();
  return <Page title={t("nav.models")}>{null}</Page>;
}
