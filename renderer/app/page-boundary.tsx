/** A page that fails to draw shows its error in its own place; the rest of the window goes on. */

import { Component, type ReactNode } from "react";
import { ErrorBox } from "../components/error-box.tsx";

interface State {
  error: unknown;
}

export class PageBoundary extends Component<{ children: ReactNode }, State> {
  override state: State = { error: undefined };

  static getDerivedStateFromError(error: unknown): State {
    return { error };
  }

  override render(): ReactNode {
    if (this.state.error === undefined) return this.props.children;
    return <ErrorBox error={this.state.error} onRetry={() => this.setState({ error: undefined })} />;
  }
}
