import { useTranslation } from "react-i18next";
import { Page } from "../../components/page.tsx";

export default function PlayPage() {
  const { t } = useTranslation();
  return <Page title={t("nav.play")}>{null}</Page>;
}
