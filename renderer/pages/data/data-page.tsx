import { useTranslation } from "react-i18next";
import { Page } from "../../components/page.tsx";

export default function DataPage() {
  const { t } = useTranslation();
  return <Page title={t("nav.data")}>{null}</Page>;
}
