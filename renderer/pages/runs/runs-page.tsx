import { Route, Switch } from "wouter";
import { RunCompare } from "./run-compare.tsx";
import { RunDetail } from "./run-detail.tsx";
import { RunList } from "./run-list.tsx";

export default function RunsPage() {
  return (
    <Switch>
      <Route path="/runs" component={RunList} />
      <Route path="/runs/compare" component={RunCompare} />
      <Route path="/runs/:name">{({ name }) => <RunDetail key={name} name={decodeURIComponent(name)} />}</Route>
    </Switch>
  );
}
