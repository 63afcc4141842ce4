import { useTranslation } from "react-i18next";
import { Page } from "../../components/page.tsx";

export default function HomePage() {
  const { t } = useTranslation();
  return <Page title={t("nav.home")}>{null}</Page>;
}
