import { AppFrame } from './app-frame.tsx';

export function AppPage() {
  return <AppFrame>{() => null}</AppFrame>;
}
