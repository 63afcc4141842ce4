import { useTranslation } from "react-i18next";
import { Page } from "../../components/page.tsx";

export default function TrainPage() {
  const { t } = useTranslation();
  return <Page title={t("nav.train")}>{null}</Page>;
}
