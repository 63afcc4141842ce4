import { useTranslation } from "react-i18next";
import { useSearch } from "wouter";
import { Page } from "../../components/page.tsx";
import { TrainJob } from "./train-job.tsx";
import { TrainSetup } from "./train-setup.tsx";

/** `?job=ID` is the run that was begun; otherwise the next one is made up. */
export default function TrainPage() {
  const { t } = useTranslation();
  const query = new URLSearchParams(useSearch());
  const job = query.get("job");
  if (job !== null) return <TrainJob id={job} />;
  return (
    <Page title={t("nav.train")} lead={t("train.lead")}>
      <TrainSetup query={query} />
    </Page>
  );
}
