import { useTranslation } from "react-i18next";
import { Page } from "../../components/page.tsx";

export default function TutorialPage() {
  const { t } = useTranslation();
  return <Page title={t("nav.tutorial")}>{null}</Page>;
}
