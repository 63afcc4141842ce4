import { Route, Switch } from "wouter";
import { AdvicePage } from "./advice-page.tsx";
import { TaskDetail } from "./task-detail.tsx";
import { TaskGallery } from "./task-gallery.tsx";

export default function TasksPage() {
  return (
    <Switch>
      <Route path="/tasks" component={TaskGallery} />
      <Route path="/tasks/advise/:task?">
        {({ task }) => <AdvicePage task={task === undefined ? null : decodeURIComponent(task)} />}
      </Route>
      <Route path="/tasks/task/:task/:tab?">
        {({ task, tab }) => {
          const reference = decodeURIComponent(task);
          return <TaskDetail key={reference} reference={reference} tab={tab ?? "rows"} />;
        }}
      </Route>
    </Switch>
  );
}
