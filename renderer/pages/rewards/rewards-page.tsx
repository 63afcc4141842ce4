import { Route, Switch } from "wouter";
import { RewardLab } from "./reward-lab.tsx";
import { RewardList } from "./reward-list.tsx";

export default function RewardsPage() {
  return (
    <Switch>
      <Route path="/rewards" component={RewardList} />
      <Route path="/rewards/lab/:path">{({ path }) => <RewardLab key={path} path={decodeURIComponent(path)} />}</Route>
    </Switch>
  );
}
