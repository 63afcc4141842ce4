import { Route, Switch } from "wouter";
import { DatasetList } from "./dataset-list.tsx";
import { DatasetPage } from "./dataset-page.tsx";
import { ImportWizard } from "./import-wizard.tsx";
import { RatePage } from "./rate-page.tsx";

export default function DataPage() {
  return (
    <Switch>
      <Route path="/data" component={DatasetList} />
      {/* No dataset is called `-`. */}
      <Route path="/data/-/import" component={ImportWizard} />
      <Route path="/data/:name">{({ name }) => <DatasetPage key={name} name={decodeURIComponent(name)} />}</Route>
      <Route path="/data/:name/rate">{({ name }) => <RatePage key={name} name={decodeURIComponent(name)} />}</Route>
    </Switch>
  );
}
