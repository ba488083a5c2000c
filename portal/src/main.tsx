/** Starts the pages. `app.tsx` lists them. */
import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import './global.css';
import { setNonce } from 'get-nonce';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { styleNonce } from './page-data.ts';
import { showFailure } from './ui/show-failure.ts';

// The scroll lock of dialogs adds its styles with this nonce.
setNonce(styleNonce);
const root = document.querySelector('#root');
if (root) createRoot(root, { onUncaughtError: showFailure }).render(<App />);
